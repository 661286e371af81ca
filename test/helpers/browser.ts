/** A browser as far as signing in needs one: cookies, redirects that are looked at, forms that are filled in. */

export interface Page {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly html: string
}

export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()

  /** Opens a page, following redirects while they stay on the site; answers the page or the address that leads away. */
  async open(url: string, init: RequestInit = {}): Promise<Page | { readonly away: string }> {
    let next = url
    let request = init
    for (let hop = 0; hop < 10; hop++) {
      const headers = new Headers(request.headers)
      const cookies = this.cookiesFor(next)
      if (cookies !== '') headers.set('cookie', cookies)
      const response = await fetch(next, { ...request, headers, redirect: 'manual' })
      this.#remember(next, response)
      const location = response.headers.get('location')
      if (!location || response.status < 300 || response.status > 399)
        return { url: next, status: response.status, headers: response.headers, html: await response.text() }
      const target = new URL(location, next)
      if (target.origin !== new URL(url).origin) return { away: target.href }
      next = target.href
      // What is read on is asked for in the same language; what was sent is not sent again.
      if (request.method !== undefined) request = {}
    }
    throw new Error(`too many redirects from ${url}`)
  }

  /** Sends the page's form with its hidden fields and the values given. */
  async submit(
    page: Page,
    values: Readonly<Record<string, string>>,
  ): Promise<Page | { readonly away: string }> {
    const form = /<form\b([^>]*)>([\s\S]*?)<\/form>/i.exec(page.html)
    if (!form) throw new Error(`no form on ${page.url} (${page.status}):\n${page.html}`)
    const fields = new URLSearchParams()
    for (const [input] of (form[2] ?? '').matchAll(/<input\b[^>]*type="?hidden"?[^>]*>/gi))
      fields.append(attribute(input, 'name'), attribute(input, 'value'))
    for (const [name, value] of Object.entries(values)) fields.set(name, value)
    return this.open(new URL(attribute(form[1] ?? '', 'action') || page.url, page.url).href, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(page.url).origin },
      body: fields,
    })
  }

  /** Sends the form with this action as it stands on the page, as a browser without scripts, with the values given; null leaves one out. */
  async fill(
    page: Page,
    action: string,
    values: Readonly<Record<string, string | null>> = {},
  ): Promise<Page | { readonly away: string }> {
    const fields = fieldsOn(page, action)
    for (const [name, value] of Object.entries(values))
      if (value === null) fields.delete(name)
      else fields.set(name, value)
    return this.open(new URL(formOn(page, action).action, page.url).href, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(page.url).origin },
      body: fields,
    })
  }

  /** What it sends to a site as `Cookie`. */
  cookiesFor(url: string): string {
    const cookies = this.#cookies.get(new URL(url).origin) ?? []
    return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  #remember(url: string, response: Response): void {
    const { origin } = new URL(url)
    const jar = this.#cookies.get(origin) ?? new Map<string, string>()
    this.#cookies.set(origin, jar)
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      const at = pair.indexOf('=')
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(cookie)) jar.delete(pair.slice(0, at))
      else jar.set(pair.slice(0, at), pair.slice(at + 1))
    }
  }
}

/** The form whose action is this, whatever its query. */
function formOn({ html, url }: Page, path: string): { readonly action: string; readonly form: string } {
  for (const [, own = '', form = ''] of html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)) {
    const action = attribute(own, 'action')
    if (action.split('?')[0] === path) return { action, form }
  }
  throw new Error(`no form for ${path} on ${url}:\n${html}`)
}

/** What a browser sends of a form: what its inputs, boxes, choices and texts hold. */
export function fieldsOn(page: Page, action: string): URLSearchParams {
  const { form } = formOn(page, action)
  const fields = new URLSearchParams()
  for (const [, input, tag, opening, inner = ''] of form.matchAll(
    /<input\b([^>]*)>|<(select|textarea)\b([^>]*)>([\s\S]*?)<\/\2>/gi,
  )) {
    const attributes = input ?? opening ?? ''
    const [name, type] = [attribute(attributes, 'name'), attribute(attributes, 'type')]
    if (name === '' || type === 'file' || (type === 'checkbox' && !/\schecked/.test(attributes))) continue
    if (tag === 'textarea') fields.set(name, plain(inner.replace(/^\n/, '')))
    else if (tag === 'select') {
      const options = [...inner.matchAll(/<option([^>]*)>([^<]*)/gi)]
      const [, own = '', text = ''] = options.find(([, one]) => /\sselected/.test(one!)) ?? options[0] ?? []
      fields.set(name, /\bvalue=/.test(own) ? attribute(own, 'value') : plain(text))
    } else fields.set(name, attribute(attributes, 'value') || (type === 'checkbox' ? 'on' : ''))
  }
  return fields
}

/** Walks from an authorization URL over sign-in and consent to the address that the client gets. */
export async function authorizeInBrowser(
  url: string,
  person: { username: string; password: string },
  decision: 'approve' | 'deny' = 'approve',
  browser = new Browser(),
): Promise<URL> {
  let place = await browser.open(url)
  for (let step = 0; step < 5; step++) {
    if ('away' in place) return new URL(place.away)
    if (/name="?password"?/.test(place.html)) place = await browser.submit(place, person)
    else if (/name="?decision"?/.test(place.html)) place = await browser.submit(place, { decision })
    else throw new Error(`neither sign-in nor consent at ${place.url} (${place.status}):\n${place.html}`)
  }
  throw new Error('sign-in and consent never ended')
}

function attribute(tag: string, name: string): string {
  const match = new RegExp(`\\b${name}=(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, 'i').exec(tag)
  return plain(match?.[1] ?? match?.[2] ?? match?.[3] ?? '')
}

function plain(text: string): string {
  return text
    .replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
}
