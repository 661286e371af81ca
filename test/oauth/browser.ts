/** A browser without a screen: keeps cookies, follows redirects within the server, fills forms. */
import { createHash, randomBytes } from 'node:crypto'
import { paths } from '../../src/oauth/urls.ts'
import { password, type TestServer } from './server.ts'

/** A page as the browser sees it. */
export interface Page {
  readonly status: number
  readonly url: string
  readonly headers: Headers
  readonly body: string
  /** Where a redirect leads that leaves the server. */
  readonly location: string | undefined
}

export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #server: Pick<TestServer, 'url'>

  constructor(server: Pick<TestServer, 'url'>) {
    this.#server = server
  }

  /** Opens a URL and follows redirects as long as they stay on the server. */
  async open(
    url: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ): Promise<Page> {
    let at = new URL(url, this.#server.url).href
    let request: { method?: string; body?: string; headers?: Record<string, string> } = init
    for (let hops = 0; hops < 10; hops++) {
      const response = await fetch(at, {
        ...request,
        redirect: 'manual',
        headers: { ...request.headers, Cookie: this.#cookieHeader() },
      })
      this.#keep(response)
      const location = response.headers.get('location') ?? undefined
      const body = await response.text()
      const next = location === undefined ? undefined : new URL(location, at)
      if (!next || next.origin !== this.#server.url || !location!.startsWith('/')) {
        return { status: response.status, url: at, headers: response.headers, body, location }
      }
      at = next.href
      const { 'Content-Type': _type, ...headers } = init.headers ?? {}
      if (init.method !== undefined && headers['Sec-Fetch-Site'] !== undefined)
        headers['Sec-Fetch-Site'] = 'same-origin'
      request = { headers }
    }
    throw new Error('too many redirects')
  }

  /** Sends the form of a page, its hidden fields and those given. */
  async submit(
    page: Page,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Page> {
    const form = formOf(page)
    const body = new URLSearchParams({ ...form.hidden, ...fields }).toString()
    return this.open(new URL(form.action, page.url).href, {
      method: 'POST',
      body,
      headers: { ...headers, 'Content-Type': 'application/x-www-form-urlencoded' },
    })
  }

  #cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  #keep(response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) this.cookies.delete(name!)
      else this.cookies.set(name!, value!)
    }
  }
}

/** The first form of a page. */
export function formOf(page: Page): { action: string; hidden: Record<string, string> } {
  const form = /<form method="post" action="([^"]+)">([\s\S]*?)<\/form>/.exec(page.body)
  if (!form) throw new Error(`no form in ${page.status} ${page.body}`)
  const hidden: Record<string, string> = {}
  for (const [, name, value] of form[2]!.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)) {
    hidden[name!] = unescape(value!)
  }
  return { action: unescape(form[1]!), hidden }
}

function unescape(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** A PKCE pair. */
export function pkcePair(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

export const callback = 'http://127.0.0.1:5555/callback'

/** Registers a client and answers what registration answered. */
export async function register(
  server: Pick<TestServer, 'url'>,
  changes: Record<string, unknown> = {},
): Promise<{ client_id: string; client_secret?: string; [key: string]: unknown }> {
  const response = await postJson(server, {
    client_name: 'Test App',
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
    ...changes,
  })
  if (response.status !== 201) throw new Error(await response.text())
  return (await response.json()) as { client_id: string }
}

export async function postJson(
  server: Pick<TestServer, 'url'>,
  body: unknown,
  path: string = paths.register,
): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** A request to a form endpoint. */
export async function postForm(
  server: Pick<TestServer, 'url'>,
  path: string,
  fields: Record<string, string | undefined>,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: any }> {
  const body = new URLSearchParams(
    Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: body.toString(),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text.startsWith('{') ? JSON.parse(text) : text,
  }
}

export interface AuthorizeOptions {
  readonly client: string
  readonly user?: string
  readonly redirectUri?: string
  readonly scope?: string
  readonly decision?: 'approve' | 'deny'
  readonly browser?: Browser
  readonly params?: Record<string, string>
  /** Of the consent form, besides the decision. */
  readonly fields?: Record<string, string>
  readonly headers?: Record<string, string>
}

/** The URL of an authorization request. */
export function authorizeUrl(
  server: Pick<TestServer, 'url'>,
  params: Record<string, string | undefined>,
): string {
  const query = new URLSearchParams(
    Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  return `${server.url}${paths.authorize}?${query.toString()}`
}

/** The three requests of a person: authorization, sign-in, consent. Answers what the client gets. */
export async function authorize(server: Pick<TestServer, 'url'>, options: AuthorizeOptions) {
  const browser = options.browser ?? new Browser(server)
  const { verifier, challenge } = pkcePair()
  const redirectUri = options.redirectUri ?? callback
  let page = await browser.open(
    authorizeUrl(server, {
      response_type: 'code',
      client_id: options.client,
      redirect_uri: redirectUri,
      scope: options.scope,
      state: 'a state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...options.params,
    }),
    options.headers && { headers: options.headers },
  )
  if (page.body.includes('name="password"')) {
    page = await browser.submit(page, { username: options.user ?? 'sales@example.com', password })
  }
  if (page.body.includes('name="decision"'))
    page = await browser.submit(page, { decision: options.decision ?? 'approve', ...options.fields })
  const answer = new URLSearchParams(page.location?.split('?')[1] ?? '')
  return { page, browser, verifier, redirectUri, code: answer.get('code') ?? '', answer }
}

/** The whole flow of a public client, to its tokens. */
export async function connect(server: Pick<TestServer, 'url'>, options: Partial<AuthorizeOptions> = {}) {
  const client = options.client ?? (await register(server)).client_id
  const flow = await authorize(server, { ...options, client })
  const reply = await redeem(server, { ...flow, client })
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
  return { ...flow, client, tokens: reply.body as TokenReply }
}

export interface TokenReply {
  access_token: string
  refresh_token: string
  expires_in: number
  scope: string
  token_type: string
  id_token?: string
}

/** Exchanges a code. */
export async function redeem(
  server: Pick<TestServer, 'url'>,
  flow: { code: string; redirectUri: string; verifier: string; client: string },
  changes: Record<string, string | undefined> = {},
) {
  return postForm(server, paths.token, {
    grant_type: 'authorization_code',
    code: flow.code,
    redirect_uri: flow.redirectUri,
    code_verifier: flow.verifier,
    client_id: flow.client,
    ...changes,
  })
}

/** Exchanges a refresh token. */
export async function refresh(
  server: Pick<TestServer, 'url'>,
  client: string,
  token: string,
  changes: Record<string, string | undefined> = {},
) {
  return postForm(server, paths.token, {
    grant_type: 'refresh_token',
    refresh_token: token,
    client_id: client,
    ...changes,
  })
}

/** Calls the resource server. */
export async function callMcp(
  server: Pick<TestServer, 'url'>,
  authorization: string | undefined,
  init: RequestInit = { method: 'POST' },
) {
  const headers = {
    ...(init.headers as Record<string, string>),
    ...(authorization !== undefined && { Authorization: authorization }),
  }
  return fetch(server.url + paths.mcp, { ...init, headers })
}
