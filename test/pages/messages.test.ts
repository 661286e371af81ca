/** The pages in several languages: every message is there, in each, and a page is in the reader's. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import nunjucks from 'nunjucks'
import { parse } from 'yaml'
import { messages } from '../../src/pages/messages.ts'
import { startServer } from '../oauth/server.ts'

const pages = join(import.meta.dirname, '../../src/pages')
const views = readdirSync(join(pages, 'views')).filter((name) => name.endsWith('.njk'))
const textOf = (file: string): string => readFileSync(file, 'utf8')
const texts = views.map((name) => textOf(join(pages, 'views', name)))
const sources = [
  ...texts,
  ...readdirSync(pages)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => textOf(join(pages, name))),
]

type Tree = { readonly [name: string]: string | Tree }

function namesIn(language: string): Map<string, string> {
  const { faults: _, ...tree } = parse(
    readFileSync(join(pages, 'messages', `${language}.yaml`), 'utf8'),
  ) as Tree
  const flat = (part: Tree, prefix: string): [string, string][] =>
    Object.entries(part).flatMap(([name, value]) =>
      typeof value === 'string' ? [[prefix + name, value]] : flat(value, `${prefix}${name}.`),
    )
  return new Map(flat(tree, ''))
}

describe('the messages of the pages', () => {
  const [english, german] = [namesIn('en'), namesIn('de')]

  it('are the same ones in every language, with the same gaps to fill', () => {
    assert.ok(english.size > 100)
    const gaps = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort()
    const told = (names: Map<string, string>): unknown[] =>
      [...names].map(([name, text]) => [name, gaps(text)])
    assert.deepEqual(told(german), told(english))
  })

  it('are all used, and every one that a page uses is there', () => {
    const all = sources.join('\n')
    const used = [...all.matchAll(/['"`]([a-z_]+\.[a-z_]+)['"`]/g)].map(([, name]) => name!)
    const groups = new Set([...english.keys()].map((name) => name.split('.')[0]!))
    // What code names may be an event of the audit log as well; that it is a message, its pages show.
    const shown = [...texts.join('\n').matchAll(/'([a-z_]+\.[a-z_]+)'/g)].map(([, name]) => name!)
    assert.ok(shown.length > 100)
    assert.deepEqual(
      shown.filter(
        (name) => groups.has(name.split('.')[0]!) && !english.has(name) && !/_$|\.njk$/.test(name),
      ),
      [],
    )
    const begun = [...all.matchAll(/['"]([a-z_]+\.[a-z_]*)['"] \+/g)].map(([, start]) => start!)
    const unused = [...english.keys()].filter(
      (name) =>
        !used.includes(name) &&
        !used.includes(name.replace(/_one$/, '')) &&
        !begun.some((start) => name.startsWith(start)),
    )
    assert.deepEqual(unused, [])
  })

  it('stand in templates that compile', () => {
    const loader = new nunjucks.FileSystemLoader(join(pages, 'views'))
    for (const name of views) new nunjucks.Environment(loader).getTemplate(name, true)
  })

  it('choose the form for one, and say a fault in the language where its sentence is known', () => {
    assert.equal(messages.de.text('powers.tools', 1), 'insgesamt {n} Werkzeug')
    assert.equal(messages.de.text('powers.tools', 2), 'insgesamt {n} Werkzeuge')
    assert.equal(messages.de.fault('Not found'), 'Nicht gefunden')
    assert.equal(messages.de.fault('something new'), 'something new')
    assert.throws(() => messages.en.text('home.nothing'), /no message "home.nothing"/)
  })

  it('come in the language that the browser asks for, and in English where there is no other', async (t) => {
    const server = await startServer(t)
    const asked = async (language: string): Promise<string> => {
      const page = await fetch(`${server.url}/sign-in`, { headers: { 'accept-language': language } })
      return page.text()
    }
    assert.match(await asked('de-AT,de;q=0.9,en;q=0.5'), /<html lang="de">[^]*<h1>Anmelden<\/h1>/)
    assert.match(await asked('fr, en;q=0.1'), /<html lang="en">[^]*<h1>Sign in<\/h1>/)
    assert.match(await asked('fr'), /<html lang="en">/)
    assert.match(await asked('constructor'), /<html lang="en">/)
  })
})
