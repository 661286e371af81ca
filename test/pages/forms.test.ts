/** Every page that the navigation and its links lead to, and every form on them: what another site, another browser or a frame could do with them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stream } from '../../src/cli/control.ts'
import { runService, type RunningService } from '../cli/running-service.ts'
import { Browser, type Page } from '../helpers/browser.ts'

const password = 'correct horse battery staple'
const user = 'admin@example.com'
const html = { headers: { accept: 'text/html' } }
const ours = { 'sec-fetch-site': 'same-origin' }

interface Form {
  readonly page: string
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

describe('every page', () => {
  it('is in no frame, runs no foreign script, and has forms that only its own browser can send', async (t) => {
    const service = await runService(t)
    const { services } = service.daemon
    await services.passwords.set(user, password)
    await services.apiKeys.create({ user, label: 'nightly' })
    const issued = { user, client: 'assistant-core-cli', clientName: 'a script', scopes: ['all'] }
    await services.tokens.issue({ ...issued, resource: 'urn:assistant-core:this-server' })
    const browser = await signIn(service)
    const other = await signIn(service)
    const { pages, forms } = await crawl(service, browser)
    const actions = forms.map(({ action }) => action.split('?')[0]!)
    for (const action of [
      '/account/password',
      '/account/key-revoke',
      '/admin/doctor',
      '/admin/people/token-revoke',
      '/admin/people/key-revoke',
      '/admin/clients/client-revoke',
      '/connected-apps/revoke',
      '/sign-out',
    ])
      assert.ok(actions.includes(action), `${action} is not reached: ${actions.join(' ')}`)
    for (const [path, { headers }] of pages) {
      const policy = headers.get('content-security-policy') ?? ''
      assert.equal(headers.get('x-frame-options'), 'DENY', path)
      assert.match(
        policy,
        /default-src 'none'.*base-uri 'none'; frame-ancestors 'none'; form-action 'self'/,
        path,
      )
      assert.doesNotMatch(policy, /unsafe|\*|https?:/, path)
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path)
      assert.equal(headers.get('cache-control'), 'no-store', path)
    }
    // Looking at a page is told, too.
    const theirForms: Form[] = []
    for (const page of new Set(forms.map((form) => form.page)))
      theirForms.push(...formsOn(page, (await open(service, other, page)).html))
    const before = await eventsOf(service)
    for (const [how, status, said, type, body, encoding] of [
      [
        'too large',
        413,
        /larger than 65536 bytes/,
        'application/x-www-form-urlencoded',
        'x'.repeat(65_537),
        '',
      ],
      ['as JSON', 400, /must be application\/x-www-form-urlencoded/, 'application/json', '{}', ''],
      ['packed', 400, /not supported/, 'application/x-www-form-urlencoded', 'csrf=x', 'gzip'],
      [
        'no UTF-8',
        400,
        /not UTF-8/,
        'application/x-www-form-urlencoded',
        Buffer.from([0x61, 0x3d, 0xff]),
        '',
      ],
    ] as const) {
      const headers = { 'content-type': type, ...(encoding && { 'content-encoding': encoding }) }
      const answer = await fetch(`${service.url}/account/password`, { method: 'POST', headers, body })
      assert.equal(answer.status, status, how)
      assert.match(await answer.text(), said, how)
      assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/, how)
    }
    for (const { page, action, fields } of forms) {
      const theirs = theirForms.find((one) => one.page === page && one.action === action)
      const attempts: Readonly<Record<string, Promise<Page>>> = {
        'without its token': send(service, browser, action, { ...fields, csrf: '' }),
        "with another browser's token": send(service, browser, action, theirs?.fields ?? { csrf: 'x' }),
        'from another site': send(service, browser, action, fields, { 'sec-fetch-site': 'cross-site' }),
        'from another origin': send(service, browser, action, fields, { origin: 'https://evil.example' }),
        'by nobody': send(service, new Browser(), action, fields),
      }
      for (const [how, attempt] of Object.entries(attempts)) {
        const { status, html: body } = await attempt
        assert.equal(status, 403, `${action} ${how}: ${body.slice(0, 500)}`)
      }
    }
    assert.deepEqual(await eventsOf(service), before, 'nothing was done')
    // What a page of ours sends that is of an earlier session is shown again, and not done.
    const known = await kindsOf(service)
    for (const { action, fields } of forms.filter((form) => !form.action.startsWith('/sign-'))) {
      const stale = { ...fields, csrf: theirForms[0]!.fields['csrf']! }
      const { status, html: body } = await send(service, browser, action, stale, ours)
      assert.equal(status, 403, action)
      assert.match(body, /signed in again since this form was made/, action)
      assert.doesNotMatch(
        body,
        /<form[^>]*>[^<]*<input[^>]*name="confirmed"/,
        `${action} is not asked either`,
      )
      const gone = await send(service, new Browser(), action, fields, ours)
      assert.match(gone.html, /you are signed out: sign in in another tab/, action)
    }
    assert.deepEqual(await kindsOf(service), known, 'it was only looked at')
    assert.equal(
      (await services.apiKeys.list(user)).filter(({ revokedAt }) => revokedAt === undefined).length,
      1,
    )
    assert.equal((await open(service, browser, '/account')).status, 200, 'nobody was signed out')
  })

  it('leads nowhere else after signing in, whatever address it was given, and gives a session of its own', async (t) => {
    const service = await runService(t)
    await service.daemon.services.passwords.set(user, password)
    for (const next of [
      'https://evil.example/',
      '//evil.example/admin',
      '/\\evil.example',
      '/admin/../../evil.example',
      '/admin@evil.example',
      '/%2f%2fevil.example',
      'javascript:alert(1)',
      '/admin\r\nLocation: https://evil.example',
    ]) {
      const browser = new Browser()
      const form = await open(service, browser, `/sign-in?next=${encodeURIComponent(next)}`)
      const planted = browser.cookiesFor(service.url)
      const there = await browser.submit(form, { username: user, password, next })
      assert.ok('url' in there, JSON.stringify(there))
      assert.equal(there.url, `${service.url}/`, next)
      assert.ok(!planted.includes('session='), 'no session before signing in')
    }
    const asked = await open(service, new Browser(), '/admin/people?user=https://evil.example')
    assert.equal(new URL(asked.url).searchParams.get('next'), '/admin/people?user=https%3A%2F%2Fevil.example')
  })
})

async function signIn(service: RunningService): Promise<Browser> {
  const browser = new Browser()
  await browser.submit(await open(service, browser, '/sign-in'), { username: user, password })
  return browser
}

async function open({ url }: RunningService, browser: Browser, path: string): Promise<Page> {
  const found = await browser.open(url + path, html)
  assert.ok('html' in found, JSON.stringify(found))
  return found
}

async function send(
  { url }: RunningService,
  browser: Browser,
  action: string,
  fields: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Promise<Page> {
  const type = { 'content-type': 'application/x-www-form-urlencoded', origin: url }
  const found = await browser.open(url + action, {
    method: 'POST',
    headers: { ...type, ...headers },
    body: new URLSearchParams(fields),
  })
  assert.ok('html' in found, JSON.stringify(found))
  return found
}

/** Follows every link to a page of ours, one of each kind. */
async function crawl(
  service: RunningService,
  browser: Browser,
): Promise<{ pages: Map<string, Page>; forms: Form[] }> {
  const pages = new Map<string, Page>()
  const forms = new Map<string, Form>()
  const waiting = [
    '/',
    '/sign-in/passkey',
    `/admin/people?user=${user}`,
    '/admin/clients?client=assistant-core-cli',
  ]
  const kinds = new Set<string>()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    // Of what there are many of one kind, one.
    const kind = path
      .replace(/=[^&]*/g, '=')
      .replace(/^\/(documents|desk|approvals|audit|prompts|skills)\/[^?]*/, '/$1/')
    if (kinds.has(kind)) continue
    kinds.add(kind)
    const page = await open(service, browser, path)
    if (!page.headers.get('content-type')?.startsWith('text/html')) continue
    pages.set(path, page)
    for (const form of formsOn(path, page.html)) forms.set(form.action.split('?')[0]!, form)
    for (const [, href] of page.html.matchAll(/<a [^>]*href="(\/[^"#]*)/g))
      waiting.push(href!.replaceAll('&amp;', '&'))
  }
  return { pages, forms: [...forms.values()] }
}

function formsOn(page: string, text: string): Form[] {
  return [...text.matchAll(/<form method="post" action="([^"]+)">([^]*?)<\/form>/g)].map(
    ([, action, inside]) => ({
      page,
      action: action!.replaceAll('&amp;', '&'),
      fields: Object.fromEntries(
        [...inside!.matchAll(/<input type="hidden" name="([^"]+)"(?:[^>]*? value="([^"]*)")?/g)].map(
          ([, name, value]) => [name!, value ?? ''],
        ),
      ),
    }),
  )
}

/** What happened so far, but for looking. */
async function eventsOf({ daemon }: RunningService): Promise<number> {
  await daemon.services.audit.settled()
  return (await daemon.services.audit.stats()).seq
}

/** The kinds of what happened so far. */
async function kindsOf({ daemon, options }: RunningService): Promise<Set<string>> {
  await daemon.services.audit.settled()
  const kinds = new Set<string>()
  for await (const { type, target = '' } of stream(options, 'audit.search', {}))
    kinds.add(type === 'cli.run' ? `${type} ${target}` : type)
  return kinds
}
