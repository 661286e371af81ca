/** Every page in German: what stands on it in English is what the site wrote so, what models read, or the name of something. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { builtInTools } from '../../src/tools/index.ts'
import { Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { copyOfShippedSite, projectRoot, startDaemon } from '../helpers/daemon.ts'
import { consentAddress, furnish, pagesOf, people } from '../helpers/every-page.ts'
import { page } from './administered.ts'

const password = 'correct horse battery staple'

/** Words that no German sentence has. */
const english = new RegExp(
  String.raw`\b(${'the of and is are not with this that you your which has have from may by it or when no must nothing what who there every all yes made changed day days time user on be to for read write create delete submit cancel never always none call use allowed denied page some new next last'.replaceAll(' ', '|')})\b`,
  'i',
)

/** Every text in a folder of YAML and Markdown, line by line and as a whole. */
function textsOf(folder: string, found = new Set<string>()): ReadonlySet<string> {
  const add = (value: unknown): void => {
    if (typeof value === 'string')
      for (const one of [value, ...value.split('\n')]) {
        found.add(one.replaceAll(/\s+/g, ' ').trim())
        // As it stands on a page, without what is marked as code.
        found.add(
          one
            .replaceAll(/`[^`]*`|\*\*?/g, ' ')
            .replaceAll(/\s+/g, ' ')
            .trim(),
        )
      }
    else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) found.add(key)
      for (const one of Object.values(value)) add(one)
    }
  }
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(ya?ml|md|json)$/.test(name)) continue
    const text = readFileSync(join(folder, name), 'utf8')
    add(text)
    const [, front = ''] = /^---\n([^]*?)\n---\n/.exec(text) ?? []
    for (const document of parseAllDocuments(name.endsWith('.md') ? front : text)) add(document.toJS())
  }
  return found
}

/** A table of others behind an address where nothing answers. */
const away = {
  'config/sources.yaml':
    'sources:\n  erp: { type: postgres, host: 127.0.0.1, port: 1, database: erp, user: reader }\n',
  'config/doctypes/stock.yaml': `doctype: Lagerbestand
from: { source: erp, table: erp.stock, key: [id] }
fields: [{ fieldname: amount, type: integer }]
permissions: [{ role: Assistant User, actions: [read] }]
`,
}

/** A prompt whose text and tests fail only when they are rendered. */
const failing = `---
title: Brief
status: Draft
visibility: Private
owner: ${people.admin}
arguments: [{ argument_name: zahl, argument_type: number }]
tests:
  - { name: erster, contains: x }
  - { name: zweiter, arguments: { zahl: 7 }, error: Anderes }
  - { name: dritter, arguments: { zahl: 2 }, equals: y }
---
{% if zahl == 2 %}z{% else %}{{ zahl + 'a' }}{% endif %}
`

describe('every page in German', () => {
  it('says nothing in English of its own', async (t) => {
    const site = copyOfShippedSite(t)
    furnish(site)
    for (const [file, text] of Object.entries({ ...away, 'prompts/brief.md': failing }))
      writeFileSync(join(site, file), text)
    const daemon = await startDaemon(t, { site })
    for (const user of [people.admin, people.auditor])
      await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
    const every = await pagesOf(daemon)
    const consent = (await consentAddress(daemon)).slice(daemon.url.length)
    const own = new Set([
      ...textsOf(site),
      ...['prompts', 'skills'].flatMap((name) => [...textsOf(join(projectRoot, name))]),
    ])
    const read = JSON.stringify(builtInTools.map(({ description, input }) => ({ description, input })))
    // Names of roles, and expressions of the site, in sentences of ours.
    const roles = [...readFileSync(join(site, 'config/roles.yaml'), 'utf8').matchAll(/name: (.+)/g)].map(
      ([, role]) => role!.trim(),
    )
    // What was made for the pages to show, by its name.
    const furnishing = readFileSync(join(projectRoot, 'test/helpers/every-page.ts'), 'utf8')
    const made = [...furnishing.matchAll(/(?<=[\s([{])'([^'\n]{8,})'(?=[\s,:)\]}])/g)].map(([, text]) =>
      text!.replaceAll('\\n', ' '),
    )
    const names = [...made, ...roles, 'Auditor', 'is formal'].sort((a, b) => b.length - a.length)
    const isData = (text: string): boolean => {
      const plain = names
        .reduce((rest, name) => rest.replaceAll(name, ''), text)
        .replace(/\bdoc\..*/, '')
        .replaceAll(/\b[a-z]+\.[a-z_]+\b/g, '')
        // What the machine says of a file.
        .replaceAll(/\bE[A-Z]{3,}: [^;)]*/g, '')
      const target = text.replace(/^\w+\//, '')
      return !english.test(plain) || own.has(target) || read.includes(JSON.stringify(text).slice(1, -1))
    }
    // What comes with the program is ours, though a file says it; what authors wrote is theirs.
    for (const name of readdirSync(join(projectRoot, 'prompts'), { recursive: true, encoding: 'utf8' })) {
      if (!name.includes('/') || !name.endsWith('.md')) continue
      const text = readFileSync(join(projectRoot, 'prompts', name), 'utf8')
      for (const [, help] of text.matchAll(/^ {4}(?:display_label|description): (.+)$/gm)) own.delete(help!)
    }
    const left: string[] = []
    for (const user of [people.admin, people.auditor]) {
      const browser = new Browser()
      const german = { headers: { 'accept-language': 'de' } }
      const open = async (path: string) => page(await browser.open(daemon.url + path, german))
      const judge = (name: string, { html }: Page): void => {
        assert.match(html, /<html lang="de"/, name)
        left.push(
          ...englishOn(html)
            .filter((text) => !isData(text))
            .map((text) => `${name}: ${text}`),
        )
      }
      const send = async (
        path: string,
        deed: string,
        values: Readonly<Record<string, string>>,
        form = deed,
      ): Promise<Page> => {
        const body = fieldsOn(await open(path), `${path}/${form}`)
        for (const [key, value] of Object.entries(values)) body.set(key, value)
        const headers = {
          ...german.headers,
          'content-type': 'application/x-www-form-urlencoded',
          origin: daemon.url,
        }
        return page(await browser.open(`${daemon.url}${path}/${deed}`, { method: 'POST', headers, body }))
      }
      const form = await open('/sign-in')
      for (const { html } of [form, await open(consent)])
        left.push(...englishOn(html).map((text) => `sign-in: ${text}`))
      await browser.submit(form, { username: user, password })
      const more = user === people.admin ? every : { audit: '/audit' }
      const walked = { home: '/', ...more, consent }
      for (const [name, path] of Object.entries(walked)) {
        judge(name, await open(path))
      }
      if (user === people.auditor) continue
      const fails = async (name: string, shown: Promise<Page>, why: RegExp): Promise<void> => {
        judge(name, await shown)
        assert.match((await shown).html, why, name)
      }
      const sum = String.raw`template_content:1:\d+: \+ geht nicht mit int und str`
      await fails('doctor', send('/admin', 'doctor', {}), /Grund: was ein Werkzeug[^<]*<br>Abhilfe: beheben/)
      await fails('a prompt', send('/prompts/brief', 'preview', { 'f.zahl': '7' }), new RegExp(sum))
      await fails('its tests', send('/prompts/brief', 'tests', {}), /scheitert: template_content/)
      await fails(
        'its text',
        send('/prompts/brief/edit', 'preview', { 'f.zahl': '7' }, 'save'),
        new RegExp(sum),
      )
      await fails(
        'a table of others',
        open('/documents/Lagerbestand'),
        /fremde Datenbank \(erp\) ist nicht zu erreichen/,
      )
      await fails(
        'a missing value',
        send('/prompts/sales_analysis', 'preview', { 'f.analysis_focus': '' }),
        /Die Zeit, für die ausgewertet wird/,
      )
    }
    assert.equal([...new Set(left)].join('\n'), '')
  })
})

/** The texts of a page that have English words; names of programs, and what somebody else wrote, are marked as such. */
function englishOn(html: string): string[] {
  const [, body = ''] = /<body[^>]*>([^]*)<\/body>/.exec(html) ?? []
  const plain = body
    .replaceAll(/<div class="prose"[^]*?<\/main>/g, ' ')
    .replaceAll(/<(script|style|pre(?! role)|code|textarea|bdi|svg)\b[^>]*>[^]*?<\/\1>/g, ' ')
  const attributes = [...plain.matchAll(/ (?:aria-label|title|placeholder|alt)="([^"]*)"/g)].map(
    ([, text]) => text!,
  )
  return [...plain.split(/<[^>]*>/), ...attributes]
    .map((text) => entities(text).replaceAll(/\s+/g, ' ').trim())
    .filter((text) => english.test(text))
}

function entities(text: string): string {
  const known: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
  return text.replaceAll(/&(\w+|#39);/g, (all, name: string) => known[name] ?? all)
}
