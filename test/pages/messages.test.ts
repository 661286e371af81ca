/** The pages in several languages: every message is there, in each, and a page is in the reader's. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import nunjucks from 'nunjucks'
import { parse } from 'yaml'
import { compileSchema } from '#leaf/schema.ts'
import { settingsSchema } from '../../src/core/settings.ts'
import { defaultSettings } from '../../src/settings/read-settings.ts'
import { messages } from '../../src/pages/views.ts'
import { everySetting } from '../../src/pages/admin/setting-fields.ts'
import { startServer } from '../oauth/server.ts'

const pages = join(import.meta.dirname, '../../src/pages')
const textOf = (file: string): string => readFileSync(file, 'utf8')
const kit = join(import.meta.dirname, '../../packages/ui/src')
const kitFiles = readdirSync(kit)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => join(kit, name))
const folders = [join(pages, 'views'), join(kit, 'views')]
const views = folders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.njk'))
    .map((name) => join(folder, name)),
)
const texts = views.map(textOf)
const sources = [
  ...texts,
  ...readdirSync(pages, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => textOf(join(pages, name))),
  ...kitFiles.map(textOf),
]

const source = join(import.meta.dirname, '../../src')

/** The files whose faults forms show: of documents, reports, prompts, people, and of forms themselves. */
const reached =
  /^(core\/values|analysis\/chart-definition|documents\/(asking\/(filters|linked-filters|reading)|sources\/table-source|belongings|documents|values|reports\/report\w*|reports\/report-\w+|writing\/\w+)|library\/(access|library|prompts\/(argument-types|arguments|previews|render)|versions\/versions|writing\/[\w-]+)|users\/[\w-]+|pages\/(?:[a-z]+\/)?[\w-]+|tools\/gate\/calls)\.ts$/

/** What only calls of tools and programs can meet: no form asks so. */
const ofTools = [
  'force: only a System Manager',
  'give names, or filters such as',
  'nothing was changed, because',
  'documents are more than the',
  'order_by: at most',
  'this tool asks the person at an app',
]

/** What the doctor's files have besides what people read: commands to be copied, and words of the log. */
const notSaid = /^(?:chmod|chown|apt-get|npm|GRANT|SELECT|Node\.js|analysis is|a source (?:refused|found)) /

const unfetched = 'none could be fetched at 12:00 (https://a.example: no answer)'

/** Sentences that are put together of parts, as people meet them. */
const whole: Readonly<Record<string, string>> = {
  '{} {} required{}': 'customer, items are required',
  '{} is required ({})': 'year is required',
  '{} ({}); delete what is not needed, or ask an administrator for more':
    'you keep 2 Task documents of 2 allowed (documents.max_documents_per_user); delete what is not needed, or ask an administrator for more',
  'none could be fetched at {} ({})': `${unfetched}; clients register themselves instead. To change that, wait`,
  '{}; clients register themselves instead. To change that, {}': `${unfetched}; clients register themselves instead. To change that, wait`,
  '{}; only clients that this program or oauth.client_documents has a copy of can connect: {}, or set oauth.client_id_metadata_documents to auto': `${unfetched}; only clients that this program or oauth.client_documents has a copy of can connect: wait, or set oauth.client_id_metadata_documents to auto`,
  'must have at least {}, has {}': 'must have at least 3 characters, has 2',
  'must have at most {}, has {}': 'must have at most 3 characters, has 4',
}

/** Returns the sentences with which a file refuses or finds fault, with `{}` where values stand. */
function sentencesIn(text: string): string[] {
  let plain = text
  for (let depth = 0; depth < 4; depth++)
    plain = plain.replaceAll(/\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}/g, '{}')
  const said =
    /(?:new AppError\(\s*(?:'\w+'|[\w.]+),|\bproblem:|(?:problems|faults)\.push\()\s*(?:'((?:[^'\\\n]|\\.)*)'|"([^"\n]*)"|`([^`]*)`)/g
  return [...plain.matchAll(said)]
    .map(([, one, two, three]) => one ?? two ?? three ?? '')
    .filter((sentence) => /[a-z]{2}/.test(sentence.replace(/^\w+: /, '').replaceAll('{}', '')))
}

/** Fills the gaps of a sentence; one that follows a word at once holds what is often not there. */
function filled(sentence: string): string {
  return sentence.replaceAll(/(?<=[\w"}])\{\}(?=,|$)/g, '').replaceAll('{}', 'Xy')
}

/** Returns the texts that stand behind a call in a file, with `{}` where values stand. */
function drawn(text: string, call: RegExp): string[] {
  let plain = text
  for (let depth = 0; depth < 4; depth++)
    plain = plain.replaceAll(/\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}/g, '{}')
  const said = new RegExp(
    String.raw`${call.source}\s*(?:'((?:[^'\\\n]|\\.)*)'|"([^"\n]*)"|\`([^\`]*)\`)`,
    'g',
  )
  return [...plain.matchAll(said)].map(([, one, two, three]) =>
    (one ?? two ?? three ?? '').replaceAll(/\\(['\\])/g, '$1'),
  )
}

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

/** What the checks of settings say of whatever a form can hold that is wrong. */
function faultsOfSettings(): string[] {
  const check = compileSchema(settingsSchema)
  const row = { label: 'x'.repeat(61), url: 'x' }
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    string: ['a "b" c', 'x'.repeat(200)],
    integer: ['many', -1, 10_000_000_000],
    array: [[{}], [row], Array.from({ length: 11 }, () => row)],
    object: [{ default: null }],
    boolean: [],
  }
  return everySetting()
    .filter(({ isBusiness }) => isBusiness)
    .flatMap(({ schema, path: [section = '', key = ''] }) =>
      wrong[String([schema['type']].flat()[0])]!.flatMap((value) => {
        const { [section]: all, ...others } = defaultSettings() as unknown as Record<string, object>
        const told = check({ ...others, [section]: { ...all, [key]: value } })
        return told.map(({ message }) => message)
      }),
    )
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
    const begun = [...all.matchAll(/['"]([a-z_]+\.(?:[a-z_]*(?=['"] \+)|[a-z_]+_(?=')))/g)].map(
      ([, start]) => start!,
    )
    const unused = [...english.keys()].filter(
      (name) =>
        !used.includes(name) &&
        !used.includes(name.replace(/_one$/, '')) &&
        !begun.some((start) => name.startsWith(start)),
    )
    assert.deepEqual(unused, [])
  })

  it('stand in templates that compile', () => {
    const loader = new nunjucks.FileSystemLoader(folders)
    for (const view of views) new nunjucks.Environment(loader).getTemplate(basename(view), true)
  })

  it('choose the form for one, and say a fault in the language where its sentence is known', () => {
    assert.equal(messages.de.text('powers.tools', 1), 'insgesamt {n} Werkzeug')
    assert.equal(messages.de.text('powers.tools', 2), 'insgesamt {n} Werkzeuge')
    assert.equal(messages.de.fault('Not found'), 'Nicht gefunden')
    assert.equal(messages.de.fault('something new'), 'something new')
    assert.throws(() => messages.en.text('home.nothing'), /no message "home.nothing"/)
  })

  it('translate sentences that the program says, with their gaps', () => {
    const { faults } = parse(readFileSync(join(pages, 'messages/de.yaml'), 'utf8')) as { faults: object }
    const said = ['src', 'packages', 'prompts']
      .flatMap((folder) => {
        const root = join(pages, '../..', folder)
        return readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name))
      })
      .filter((name) => /\/src\/.*\.ts$|\/prompts\/.*\.md$/.test(name))
      .map((name) => textOf(name).replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '{}'))
      .concat(...everySetting().map(({ help }) => help), ...faultsOfSettings())
      .join('\n')
      .toLowerCase()
      .replaceAll('\\\\', '\\')
    const unsaid = Object.keys(faults).filter((sentence) => {
      // The parts of a sentence between its gaps; those that are put together of words are looked for by their longest part.
      const parts = sentence.split(/\{\w+\}/).sort((a, b) => b.length - a.length)
      const part = parts[0]!.trim().toLowerCase()
      return !said.includes(part.replaceAll("'", "\\'")) && !said.includes(part)
    })
    assert.deepEqual(unsaid, [])
    const gaps = (text: string): string[] => text.match(/\{\w+\}/g) ?? []
    for (const [from, to] of Object.entries(faults as Record<string, string>))
      for (const gap of gaps(to)) assert.ok(gaps(from).includes(gap), `${to}: ${gap}`)
  })

  it('have words for every fault that a form can meet', () => {
    const german = messages.de
    const drawn = readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((name) => reached.test(name))
      .map((name) => join(source, name))
      .concat(join(source, '../packages/sources/src/source-door.ts'), kitFiles)
      .flatMap((name) => sentencesIn(textOf(name)))
    assert.ok(drawn.length > 150, `${drawn.length} sentences were drawn`)
    const mute = [...new Set(drawn)].filter((sentence) => {
      const said = whole[sentence] ?? filled(sentence)
      return (
        german.problem(said) === said &&
        german.fault(said) === said &&
        !ofTools.some((one) => sentence.includes(one))
      )
    })
    assert.deepEqual(mute, [])
    const gone = ofTools.filter((one) => !drawn.some((sentence) => sentence.includes(one)))
    assert.deepEqual(gone, [], 'exceptions that are said no more')
  })

  it('have words for every fault of a setting, and for the help of each that a page changes', () => {
    const told = [...new Set(faultsOfSettings())]
    assert.ok(told.length > 10, told.join('\n'))
    const read = everySetting().flatMap(({ isBusiness, help }) => (isBusiness ? [help] : []))
    assert.ok(read.every((help) => /^[^\n]{20,}[^:\n]$/.test(help) && !help.includes('null')))
    const mute = [...told, ...read].filter((one) => messages.de.problem(one) === one)
    assert.deepEqual(mute, [])
  })

  it('have words for whatever a database of others refuses', () => {
    const faults = textOf(join(source, 'documents/sources/write-faults.ts'))
    const drawn = [...faults.matchAll(/refused\(\s*'([^']*)'/g)].map(([, sentence]) => sentence!)
    assert.ok(drawn.length > 7, `${drawn.length} sentences were drawn`)
    const lacks = 'the login of the source "erp" lacks UPDATE for this; its operator has been told'
    const atFields = [
      'has at most 20 characters in its table, not 21',
      'must be less than 1000000 in its table',
      'does not fit its column',
      'may be what does not fit its column',
    ]
    const german = messages.de
    const told = [...drawn, lacks].flatMap((one) => [
      `Item: ${one}; nothing was changed`,
      `Item: title: ${one}`,
    ])
    for (const one of [...told, ...atFields.map((each) => `Item: title: ${each}`)]) {
      const said = german.fault(one)
      assert.doesNotMatch(said, /\b(?:the|its|must|has|does|cannot|try|rows|choose)\b/, said)
    }
    for (const told of [
      'Item: the database would have made 0 rows instead of one; nothing was changed',
      'Item "1" could not be read any more after it was written; nothing was changed',
    ])
      assert.doesNotMatch(german.fault(told), /nothing was changed|rows|any more/)
    assert.equal(
      german.fault(
        'Item: the login of the source "erp" lacks UPDATE for this; its operator has been told; nothing was changed',
      ),
      'Item: Der fremden Datenbank (erp) fehlt dafür ein Recht des Dienstes: UPDATE; wer ihn betreibt, weiß davon. Es wurde nichts geändert.',
    )
  })

  it('have words for every title of a tool, and for every fault of the text of a prompt', () => {
    const { de } = messages
    const titles = readdirSync(join(source, 'tools'), { recursive: true, encoding: 'utf8' })
      .concat('../core/effects.ts')
      .filter((name) => name.endsWith('.ts') && !/^(?:gate|own)\//.test(name))
      .flatMap((name) => drawn(textOf(join(source, 'tools', name)), /(?:\btitle:|named\('\w+',)/))
    const jinja = join(source, '../packages/jinja/src')
    const parts =
      /^(?:\w+\/)?(lexer|string-literal|token-stream|ast|template|compile-[\w-]+|parse-[\w-]+)\.ts$/
    const templates = readdirSync(jinja, { recursive: true, encoding: 'utf8' })
      .filter((name) => parts.test(name))
      .flatMap((name) =>
        drawn(textOf(join(jinja, name)), /(?:new Fault\(\s*'TemplateSyntaxError',|\b(?:fail|refuse)\()/),
      )
      // As the library writes them.
      .map((sentence) => `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`)
    const files = ['template-file', 'argument-rows'].flatMap((name) =>
      drawn(
        textOf(join(source, `library/prompts/${name}.ts`)),
        /(?:\bfault\((?:\s*\[[^\]]*\],)?|const message =)/,
      ),
    )
    const running = readdirSync(jinja, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) =>
        drawn(
          textOf(join(jinja, name)),
          /(?:new Fault\(\s*'(?!TemplateSyntaxError)\w+',|new Undefined\(|\.fault =)/,
        ),
      )
    assert.ok(titles.length > 25 && templates.length > 35 && files.length > 6 && running.length > 150)
    const mute = [...titles, ...templates, ...files, ...running].filter((sentence) => {
      const said = sentence.replaceAll(/(?<=argument|\.)\{\}/g, '').replaceAll('{}', 'Xy')
      return de.problem(said) === said
    })
    assert.deepEqual(mute, [])
  })

  it('have words for whatever the doctor and the daemon find, and tables of others answer', () => {
    const { de } = messages
    const files = [
      ...['machine', 'state'].map((name) => `control/doctor/${name}`),
      'http/health-endpoint',
      '../packages/audit/src/keeping/volume',
      '../packages/sandbox/src/sandbox',
      'documents/sources/table-source',
      '../packages/sources/src/source-door',
    ]
    const found = files.flatMap((name) => {
      const code = textOf(join(source, `${name}.ts`)).replaceAll(
        /\/\*\*[^]*?\*\/|^\s*\/\/.*$|^import .*$/gm,
        '',
      )
      return drawn(code, /(?<![\w'"`])/).filter(
        (text) => /[a-z]{2}.* .*[a-z]{2}/.test(text) && !notSaid.test(text),
      )
    })
    const [, scheme = ''] =
      /function checkScheme([^]*?)\n\}/.exec(textOf(join(source, 'control/doctor/public.ts'))) ?? []
    found.push(...drawn(scheme, /(?<=broken\([^]*)(?<!\w)/).filter((text) => text.includes(' ')))
    const matching = textOf(join(source, 'documents/sources/matching.ts'))
    found.push(...drawn(matching, /\b(?:wrong|at\([^()]*\))\(/))
    assert.ok(found.length > 120, `${found.length} sentences were drawn`)
    const mute = found.filter((text) => {
      const said = whole[text] ?? filled(text)
      return de.problem(said) === said
    })
    assert.deepEqual(mute, [])
    assert.equal(
      de.problem(
        'config/doctypes/stock.yaml:7:3 fields[0].type: the column "amount" is a text, which no number shows: make it a text',
      ),
      'config/doctypes/stock.yaml:7:3 fields[0].type: die Spalte amount ist text, was ein Feld der Art number nicht zeigt: geben Sie ihm die Art text',
    )
  })

  it('say several faults at once, each behind its place, without what they tell a model', () => {
    const { de, en } = messages
    const told =
      'Task: subject: must be one line; there is no Task "T" that you may read (search_link finds names)'
    assert.equal(en.fault(told), told.replace(/ \(search_link.*$/, ''))
    assert.equal(
      de.fault(told),
      'Task: subject: muss in einer Zeile stehen. Task "T" gibt es nicht, oder nicht für Sie.',
    )
    assert.equal(
      de.fault('you may read Task "T" but not delete it; you may write, comment'),
      'Sie dürfen Task T lesen, aber nicht mehr (löschen). Sie dürfen: ändern, kommentieren.',
    )
    assert.equal(
      de
        .fault('Task "read" was changed by a@b.c at 12:00; read it again, then update')
        .startsWith('a@b.c hat read'),
      true,
    )
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
