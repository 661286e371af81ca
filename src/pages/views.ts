/** The HTML pages: our own templates, with everything in them escaped, in the language and time of the visitor. */
import { join } from 'node:path'
import nunjucks from 'nunjucks'
import { renderSVG } from 'uqr'
import { isoTime } from '#leaf/clock.ts'
import { Remembered } from '#leaf/remembered.ts'
import type { Settings } from '../core/settings.ts'
import type { Platform } from '../documents/platform/platform.ts'
import type { SignedIn } from '../users/accounts.ts'
import type { PageExchange } from '#ui/browser.ts'
import { companyOf } from './company.ts'
import { isLanguage, languages, type Language } from '#ui/pages.ts'
import { messages } from './messages.ts'
import { navigationFor, pages } from './pages.ts'
import { keptFormat, type Reader } from '#ui/forms.ts'

/** The visitor of a page: the request, and the user when signed in. */
type Looker = Pick<PageExchange, 'state' | 'path' | 'acceptsLanguages'>

/** Renders a page by the name of its view, for the visitor; in English without one. */
export type Render = (
  ctx: Looker | undefined,
  view: string,
  data?: Readonly<Record<string, unknown>>,
) => string

const { SafeString } = nunjucks.runtime as unknown as {
  SafeString: new (html: string) => { toString(): string }
}
const { escape } = nunjucks.lib as unknown as { escape: (text: string) => string }

const companies = new Remembered<Settings, ReturnType<typeof companyOf>>()

/** Prepares the views of a site. */
export function createViews(deps: {
  readonly settings: () => Settings
  readonly doctypes: () => Platform['doctypes']
}): Render {
  const loader = new nunjucks.FileSystemLoader(join(import.meta.dirname, 'views'))
  const environment = new nunjucks.Environment(loader, {
    autoescape: true,
    throwOnUndefined: true,
    trimBlocks: true,
    lstripBlocks: true,
  })
  for (const [name, opening] of [
    ['strong', 'strong class="client" dir="auto"'],
    ['code', 'code'],
    ['bdi', 'bdi'],
  ] as const)
    environment.addGlobal(name, (text: unknown) => html(`<${opening}>${escaped(text)}</${name}>`))
  environment.addGlobal('pages', pages)
  environment.addGlobal('qr', (uri: string) => html(renderSVG(uri, { pixelSize: 1 })))
  // `markup` is only for HTML that we made of a text ourselves.
  environment.addGlobal('markup', html)
  environment.addGlobal('link', (to: string, text: unknown) =>
    html(`<a href="${escaped(to)}">${escaped(text)}</a>`),
  )
  const translators = new Map<Language, ReturnType<typeof translator>>()
  const translatorOf = (language: Language): ReturnType<typeof translator> => {
    const known = translators.get(language) ?? translator(language)
    translators.set(language, known)
    return known
  }
  return (ctx, view, data = {}) => {
    const settings = deps.settings()
    const signed = ctx?.state['signed'] as SignedIn | undefined
    const language = ctx ? languageOf(ctx) : 'en'
    const doctypes = deps.doctypes()
    return environment.render(`${view}.njk`, {
      site: settings.server.display_name,
      skipping: settings.oauth.skip_authorization,
      language,
      t: translatorOf(language),
      // What a doctype, or a text of it, is called in the reader's language.
      called: (doctype: string, text = doctype) =>
        doctypes.get(doctype)?.translations.get(language)?.get(text) ?? text,
      when: (time: number) => html(timeIn(signed?.account.timezone ?? 'UTC', time)),
      at: (text: string, exactly = false) =>
        html(timeIn(signed?.account.timezone ?? 'UTC', Date.parse(text), exactly)),
      company: companies.of(settings, '', () => companyOf(settings)),
      navigation: signed ? navigationFor(signed.user, ctx?.path ?? '') : [],
      waiting: ctx?.state['waiting'] ?? 0,
      here: ctx?.path ?? '',
      requestId: (ctx?.state['requestId'] as string | undefined) ?? '',
      ...data,
    })
  }
}

/** Returns the language that the user chose, or else the one that the browser asks for. */
export function languageOf(ctx: Looker): Language {
  const chosen = (ctx.state['signed'] as SignedIn | undefined)?.account.language
  if (isLanguage(chosen)) return chosen
  const asked: unknown = (ctx.state['asksFor'] ??= ctx.acceptsLanguages(...Object.keys(languages)))
  return isLanguage(asked) ? asked : 'en'
}

/** Returns how the visitor of a page reads values. */
export function readerOf(ctx: Looker): Reader {
  const signed = ctx.state['signed'] as SignedIn | undefined
  const language = languageOf(ctx)
  return { language, timeZone: signed?.account.timezone ?? 'UTC', messages: messages[language] }
}

/** Makes the function that renders a message as HTML: its text and values are escaped, except values that are HTML of ours. */
function translator(language: Language) {
  // Escaped once for each text of the catalogue: a page has dozens.
  const known = new Map<string, { readonly text: string; readonly whole: object | undefined }>()
  const text = (name: string, values: Record<string, unknown> = {}): object => {
    const plain = messages[language].text(name, values['n'])
    let found = known.get(plain)
    if (!found) {
      const text = escape(plain)
      known.set(plain, (found = { text, whole: gap.test(text) ? undefined : html(text) }))
    }
    return found.whole ?? html(found.text.replaceAll(gaps, (_, key: string) => escaped(values[key])))
  }
  // What the program says elsewhere, such as a reason or the titles of tools.
  const told = (said: string | readonly string[]): string =>
    [said]
      .flat()
      .map((one) => messages[language].problem(one))
      .join(', ')
  return Object.assign(text, { told })
}

const gap = /\{\w+\}/
const gaps = /\{(\w+)\}/g

function timeIn(timeZone: string, time: number, exactly = false): string {
  return `<time datetime="${isoTime(time)}">${minuteIn(timeZone, time, exactly)}</time>`
}

/** Formats a time to the minute, or exactly to the second, in the form that every language reads alike, with its zone. */
export function minuteIn(timeZone: string, time: number, exactly = false): string {
  const timeStyle = exactly ? 'medium' : 'short'
  const minutes = keptFormat(
    `${timeStyle} ${timeZone}`,
    () => new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle }),
  )
  const zones = keptFormat(
    `name ${timeZone}`,
    () => new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' }),
  )
  // Its name stands behind the day.
  return `${minutes.format(time)} ${zones.format(time).replace(/^.* /, '')}`
}

function html(text: string): object {
  return new SafeString(text)
}

function escaped(value: unknown): string {
  if (value instanceof SafeString) return value.toString()
  return escape(typeof value === 'string' ? value : JSON.stringify(value))
}
