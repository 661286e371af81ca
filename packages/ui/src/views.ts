/** Views: templates in which everything is escaped, in the language and time of whoever looks. */
import { join } from 'node:path'
import nunjucks from 'nunjucks'
import { isoTime } from '#leaf/clock.ts'
import type { PageExchange } from './browser.ts'
import { isLanguage, type Language, languages, type Messages } from './messages.ts'
import { minuteIn, type Reader } from './reader.ts'

/** A signed-in person, as far as views know them: how they read. */
type Signed = { readonly account: { readonly language?: string; readonly timezone?: string } } | undefined

/** Whoever looks at a page: a request, and in its state under `signed` who is signed in. */
type Looker = Pick<PageExchange, 'state' | 'path' | 'acceptsLanguages'>

/** Renders a page by the name of its view, for the visitor; in English without one. */
export type Render = (
  ctx: Looker | undefined,
  view: string,
  data?: Readonly<Record<string, unknown>>,
) => string

/** What views are made of besides those of every form and list. */
interface ViewParts {
  readonly folder: string
  readonly readerOf: ReaderOf
  /** What views may name; among it `scriptPath` and `suggestionsPath`, where forms find their script and what it suggests. */
  readonly globals: Readonly<Record<string, unknown>>
  /** Returns what every view of a visitor is given. */
  readonly data: (ctx: Looker | undefined, reader: Reader) => Readonly<Record<string, unknown>>
}

const { SafeString } = nunjucks.runtime as unknown as {
  SafeString: new (html: string) => { toString(): string }
}
const { escape } = nunjucks.lib as unknown as { escape: (text: string) => string }

function element(name: string, attributes = '') {
  return (text: unknown) => markup(`<${name}${attributes}>${escaped(text)}</${name}>`)
}

/** Makes the function that renders views. */
export function createViews({ folder, readerOf, globals, data: common }: ViewParts): Render {
  const loader = new nunjucks.FileSystemLoader([folder, join(import.meta.dirname, 'views')])
  const environment = new nunjucks.Environment(loader, {
    autoescape: true,
    throwOnUndefined: true,
    trimBlocks: true,
    lstripBlocks: true,
  })
  const all = {
    strong: element('strong', ' class="client" dir="auto"'),
    code: element('code'),
    bdi: element('bdi'),
    link: (to: string, text: unknown) => markup(`<a href="${escaped(to)}">${escaped(text)}</a>`),
    // `markup` is only for HTML that we made of a text ourselves.
    markup,
    ...globals,
  }
  for (const [name, value] of Object.entries(all)) environment.addGlobal(name, value)
  const translators = new Map<Messages, ReturnType<typeof translator>>()
  return (ctx, view, data = {}) => {
    const reader = readerOf(ctx)
    const t = translators.get(reader.messages) ?? translator(reader.messages)
    translators.set(reader.messages, t)
    return environment.render(`${view}.njk`, {
      language: reader.language,
      t,
      when: (time: number) => markup(timeIn(reader, time)),
      at: (text: string, exactly = false) => markup(timeIn(reader, Date.parse(text), exactly)),
      here: ctx?.path ?? '',
      requestId: (ctx?.state['requestId'] as string | undefined) ?? '',
      ...common(ctx, reader),
      ...data,
    })
  }
}

/** Returns how the visitor of a page reads it. */
type ReaderOf = (ctx: Looker | undefined) => Reader

/** Makes the function that says how a visitor reads: as they chose, or else as the browser asks. */
export function readersOf(messages: Readonly<Record<Language, Messages>>): ReaderOf {
  return (ctx) => {
    const account = (ctx?.state['signed'] as Signed)?.account
    const asked = (): unknown =>
      ctx && (ctx.state['asksFor'] ??= ctx.acceptsLanguages(...Object.keys(languages)))
    const wanted = isLanguage(account?.language) ? account.language : asked()
    const language = isLanguage(wanted) ? wanted : 'en'
    return { language, timeZone: account?.timezone ?? 'UTC', messages: messages[language] }
  }
}

/** Makes the function that renders a message as HTML: its text and values are escaped, except values that are HTML of ours. */
function translator(messages: Messages) {
  // Escaped once for each text of the catalogue: a page has dozens.
  const known = new Map<string, { readonly text: string; readonly whole: object | undefined }>()
  const text = (name: string, values: Record<string, unknown> = {}): object => {
    const plain = messages.text(name, values['n'])
    let found = known.get(plain)
    if (!found) {
      const text = escape(plain)
      known.set(plain, (found = { text, whole: gap.test(text) ? undefined : markup(text) }))
    }
    return found.whole ?? markup(found.text.replaceAll(gaps, (_, key: string) => escaped(values[key])))
  }
  // What the program says elsewhere, such as a reason or the titles of tools.
  const told = (said: string | readonly string[]): string =>
    [said]
      .flat()
      .map((one) => messages.problem(one))
      .join(', ')
  return Object.assign(text, { told })
}

const gap = /\{\w+\}/
const gaps = /\{(\w+)\}/g

function timeIn({ timeZone }: Reader, time: number, exactly = false): string {
  return `<time datetime="${isoTime(time)}">${minuteIn(timeZone, time, exactly)}</time>`
}

/** Marks a text as HTML, which is not escaped any more: only for HTML that was made of escaped texts. */
export function markup(text: string): object {
  return new SafeString(text)
}

function escaped(value: unknown): string {
  if (value instanceof SafeString) return value.toString()
  return escape(typeof value === 'string' ? value : JSON.stringify(value))
}
