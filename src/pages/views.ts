/** The HTML pages: our own templates, everything in them escaped, in the language and time of whoever looks. */
import { join } from 'node:path'
import type { Context } from 'koa'
import nunjucks from 'nunjucks'
import { renderSVG } from 'uqr'
import { isoTime } from '../core/clock.ts'
import type { Settings } from '../core/settings.ts'
import { paths } from '../oauth/urls.ts'
import type { SignedIn } from '../users/sessions.ts'
import { companyOf } from './company.ts'
import { isLanguage, languages, messages, type Language } from './messages.ts'
import { navigationFor } from './navigation.ts'

/** Whoever looks at a page: what they ask of it, and who they are when they are signed in. */
type Looker = Pick<Context, 'state' | 'path' | 'acceptsLanguages'>

/** Renders a page by the name of its view, for whoever asked; in English where nobody did. */
export type Render = (
  ctx: Looker | undefined,
  view: string,
  data?: Readonly<Record<string, unknown>>,
) => string

const { SafeString } = nunjucks.runtime as unknown as {
  SafeString: new (html: string) => { toString(): string }
}
const { escape } = nunjucks.lib as unknown as { escape: (text: string) => string }

/** Prepares the pages of a site. */
export function createViews(deps: { settings: () => Settings }): Render {
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
  environment.addGlobal('qr', (uri: string) => html(renderSVG(uri, { pixelSize: 1 })))
  // Only for what we made of a text ourselves.
  environment.addGlobal('markup', html)
  environment.addGlobal('link', (to: string, text: unknown) =>
    html(`<a href="${escaped(to)}">${escaped(text)}</a>`),
  )
  return (ctx, view, data = {}) => {
    const settings = deps.settings()
    const signed = ctx?.state['signed'] as SignedIn | undefined
    const language = ctx ? languageOf(ctx) : 'en'
    return environment.render(`${view}.njk`, {
      site: settings.server.display_name,
      paths,
      skipping: settings.oauth.skip_authorization,
      language,
      t: translator(language),
      when: (time: number) => html(timeIn(signed?.account.timezone ?? 'UTC', time)),
      at: (text: string) => html(timeIn(signed?.account.timezone ?? 'UTC', Date.parse(text))),
      company: companyOf(settings),
      navigation: signed ? navigationFor(signed.user) : [],
      here: ctx?.path ?? '',
      requestId: String(ctx?.state['requestId'] ?? ''),
      ...data,
    })
  }
}

/** What the user chose, or else what the browser asks for. */
export function languageOf(ctx: Looker): Language {
  const chosen = (ctx.state['signed'] as SignedIn | undefined)?.account.language
  const asked = ctx.acceptsLanguages(...Object.keys(languages))
  return isLanguage(chosen) ? chosen : isLanguage(asked) ? asked : 'en'
}

/** A message as HTML: its own text and every value escaped, but for values that are HTML of ours already. */
function translator(language: Language): (name: string, values?: Record<string, unknown>) => object {
  return (name, values = {}) =>
    html(
      escape(messages[language].text(name, values['n'])).replaceAll(/\{(\w+)\}/g, (_, key: string) =>
        escaped(values[key]),
      ),
    )
}

function timeIn(timeZone: string, time: number): string {
  return `<time datetime="${isoTime(time)}">${minuteIn(timeZone, time)}</time>`
}

/** Making a format takes longer than a page. */
const formats = new Map<string, (time: number) => string>()

/** A minute in the form that every language reads alike, and its zone. */
export function minuteIn(timeZone: string, time: number): string {
  const known = formats.get(timeZone)
  if (known) return known(time)
  const minutes = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  const zones = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' })
  const zoneOf = (at: number): string =>
    zones.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
  formats.set(timeZone, (at) => `${minutes.format(at)} ${zoneOf(at)}`)
  return minuteIn(timeZone, time)
}

function html(text: string): object {
  return new SafeString(text)
}

function escaped(value: unknown): string {
  if (value instanceof SafeString) return value.toString()
  return escape(typeof value === 'string' ? value : JSON.stringify(value))
}
