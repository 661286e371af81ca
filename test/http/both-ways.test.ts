/** Programs' calls and authorization requests are answered outside Koa where nothing else is needed: both ways must be alike. */
import assert from 'node:assert/strict'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { AuditLine } from '#audit/audit.ts'
import { probeHeader } from '../../src/http/doctor-probe.ts'
import { bareCall, callsOf } from '../../src/http/program-calls.ts'
import { operate, stream } from '../../src/cli/control.ts'
import { aliases, paths } from '../../src/oauth/urls.ts'
import { authorize, Browser, callback, pkcePair, register } from '../oauth/browser.ts'
import { password } from '../oauth/server.ts'
import { folders, noPython, runService, type RunningService } from '../cli/running-service.ts'

interface Asked {
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
}

const closing: (() => unknown)[] = []
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
const json = { 'Content-Type': 'application/json' }
const user = 'sales@example.com'
const redirectUri = 'https://app.example/callback'
let service: RunningService
let cookie: string
let client: string

before(async () => {
  const t = { after: (close: () => unknown) => void closing.push(close) }
  service = await runService(t, folders(t, [noPython]))
  await operate(service.options, 'users.passwd', { user, password })
  const browser = new Browser(service)
  client = (await register(service, { redirect_uris: [redirectUri] })).client_id
  await authorize(service, { client, redirectUri, scope: 'all', browser })
  cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
})

after(async () => {
  agent.destroy()
  for (const close of closing.reverse()) await close()
})

/** Sends a request and returns everything of its answer but what differs from one answer to the next. */
async function send({ method = 'GET', path, headers, body }: Asked) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { method, agent, headers: headers as Record<string, string | string[]> }
    request(service.url + path, options, resolve)
      .on('error', reject)
      .end(body)
  })
  const bytes = Buffer.concat((await response.toArray()) as Buffer[])
  const text = bytes.toString()
  const { date: _date, 'x-request-id': id, ...rest } = response.headers
  assert.match(String(id), /^[\w-]{22}$/)
  const location = rest.location === undefined ? {} : { location: withoutSecrets(rest.location) }
  const shown = withoutSecrets(text.replaceAll(String(id), '…'))
  // A second may have passed between the two.
  const wait =
    rest['retry-after'] === undefined ? {} : { 'retry-after': rest['retry-after'].replace(/^\d+$/, '…') }
  const told: Record<string, unknown> = { ...rest, ...location, ...wait }
  return { status: response.statusCode, headers: told, text: shown }
}

/** Leaves out what is made anew for each answer. */
function withoutSecrets(text: string): string {
  return text
    .replaceAll(/(ac_\w\w_|"client_id":"|"client_id_issued_at":|name="(?:csrf|time)" value=")[\w-]+/g, '$1…')
    .replaceAll(/code=[\w%-]+/g, 'code=…')
    .replaceAll(/try again in \d+ seconds/g, 'try again in … seconds')
}

/** What the service has counted, recorded and logged of requests so far. */
async function noted() {
  const metrics = await new Promise<string>((resolve, reject) => {
    const options = { socketPath: join(service.state, 'control.sock'), path: '/metrics' }
    request(options, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })
  const counts = new Map(
    [...metrics.matchAll(/^(\S*http_requests_total\S*|\S*limit\S*) (\d+)$/gm)].map(
      ([, name, count]) => [name!, Number(count)] as const,
    ),
  )
  const events: AuditLine[] = []
  for await (const line of stream(service.options, 'audit.search', {})) events.push(line)
  const logged = service.lines.filter(({ msg }) => msg === 'request')
  return { counts, events, logged }
}

/** Sends the request on the short way and on the other, and compares the answers and everything that was noted of them. */
async function bothWays(name: string, asked: Asked) {
  const isPage = asked.path.startsWith(paths.authorize) || asked.path.startsWith(aliases.authorize)
  const other = isPage
    ? { ...asked, headers: { ...asked.headers, Origin: service.url } }
    : { ...asked, path: `${asked.path}?x=1` }
  const [first, second] = [await seen(asked), await seen(other)]
  assert.deepEqual(first, second, name)
  assert.ok(first.counts.length > 0 && first.logged.length === 1, name)
  return first
}

async function seen(asked: Asked) {
  const before = await noted()
  const answer = await send(asked)
  const now = await noted()
  const counts = [...now.counts].flatMap(([of, count]) => {
    const more = count - (before.counts.get(of) ?? 0)
    return more === 0 ? [] : [`${of} ${more}`]
  })
  const known = new Set(before.events.map(({ id }) => id))
  const events = now.events
    .filter(({ id }) => !known.has(id))
    .map(({ type, status, user, address }) => ({ type, status, user, address }))
  const logged = now.logged
    .slice(before.logged.length)
    .map(({ request_id: _id, time: _time, milliseconds: _took, ...rest }) => rest)
  return { answer, counts, events, logged }
}

function query(changes: Record<string, string> = {}): string {
  const { challenge: code_challenge } = pkcePair()
  const fixed = { response_type: 'code', client_id: client, redirect_uri: redirectUri, state: 'a state' }
  const proof = { code_challenge, code_challenge_method: 'S256', scope: 'all' }
  return new URLSearchParams({ ...fixed, ...proof, ...changes }).toString()
}

describe('a request that is answered outside Koa, and the same with Koa around it', () => {
  it('take these two ways', () => {
    const guard = (_: unknown, next: () => unknown): unknown => next()
    const calls = callsOf(
      [['POST', ['/token'], () => 1]],
      [[['/authorize'], { get: () => 2, post: () => 3 }]],
      guard,
    )
    const isBare = (method: string, url: string, headers = {}): boolean =>
      bareCall({ method, url, headers } as IncomingMessage, calls) !== undefined
    assert.ok(isBare('POST', '/token') && isBare('GET', '/authorize') && isBare('GET', '/authorize?a=b'))
    assert.ok(isBare('POST', '/authorize') && isBare('POST', '/authorize', { origin: 'null' }))
    const origin = { origin: 'https://app.example' }
    for (const [method, url, headers] of [
      ['POST', '/token?x=1'],
      ['POST', '/token', origin],
      ['POST', '/authorize?a=b'],
      ['POST', '/authorize', origin],
      ['POST', '/token', { origin: 'null' }],
      ['HEAD', '/authorize'],
      ['GET', '/authorize/'],
      ['GET', '/authorize?a=b', origin],
      ['GET', '/authorize', { [probeHeader]: 'x' }],
      ['GET', '/token?a=b'],
    ] as const)
      assert.ok(!isBare(method, url, headers), `${method} ${url}`)
  })

  it('give programs the same answers, with the same events, counts and lines of the log', async () => {
    const basic = { Authorization: `Basic ${Buffer.from(`${client}:wrong`).toString('base64')}` }
    const metadata = { client_name: 'A', redirect_uris: [callback], token_endpoint_auth_method: 'none' }
    const cases: Record<string, Asked & { readonly gives: number }> = {
      document: { path: paths.authorizationServer, gives: 200 },
      keys: { path: paths.jwks, gives: 200 },
      'a wrong code': {
        method: 'POST',
        path: paths.token,
        headers: form,
        body: `grant_type=authorization_code&code=x&redirect_uri=y&client_id=${client}`,
        gives: 400,
      },
      'no form': { method: 'POST', path: aliases.token, headers: json, body: '{}', gives: 400 },
      'a packed form': {
        method: 'POST',
        path: paths.token,
        headers: { ...form, 'Content-Encoding': 'gzip' },
        body: 'x',
        gives: 415,
      },
      'a large form': {
        method: 'POST',
        path: paths.token,
        headers: form,
        body: 'a='.padEnd(70_000, 'b'),
        gives: 413,
      },
      'two credentials': {
        method: 'POST',
        path: paths.revoke,
        headers: { ...form, Authorization: ['Basic a', 'Basic b'] },
        body: 'token=x',
        gives: 400,
      },
      'a wrong secret': {
        method: 'POST',
        path: paths.introspect,
        headers: { ...form, ...basic },
        body: 'token=x',
        gives: 401,
      },
      'an unknown token': {
        method: 'POST',
        path: paths.revoke,
        headers: form,
        body: `token=x&client_id=${client}`,
        gives: 200,
      },
      registration: {
        method: 'POST',
        path: paths.register,
        headers: json,
        body: JSON.stringify(metadata),
        gives: 201,
      },
      'no token': { path: paths.userinfo, gives: 401 },
    }
    for (const [name, { gives, ...asked }] of Object.entries(cases)) {
      const { answer, events } = await bothWays(name, asked)
      assert.equal(answer.status, gives, `${name}: ${answer.text}`)
      assert.equal(answer.headers['x-content-type-options'], 'nosniff', name)
      if (name === 'a wrong code') assert.equal(events[0]?.type, 'token.refuse')
    }
  })

  it('give browsers the same answers to an authorization request, with the same events', async () => {
    const known = { Cookie: cookie, 'Sec-Fetch-Site': 'none' }
    const german = { ...known, 'Accept-Encoding': 'gzip', 'Accept-Language': 'de' }
    const cases: Record<string, Asked & { readonly gives: number; readonly is: RegExp }> = {
      'an unknown app': {
        path: `${aliases.authorize}?client_id=x&response_type=code`,
        headers: { 'Accept-Language': 'de' },
        gives: 400,
        is: /<html lang="de">/,
      },
      'another place to answer to': {
        path: `${paths.authorize}?${query({ redirect_uri: 'https://evil.example/' })}`,
        headers: known,
        gives: 400,
        is: /redirect_uri is not one/,
      },
      'a fault that is sent back': {
        path: `${paths.authorize}?${query({ code_challenge_method: 'plain' })}`,
        headers: known,
        gives: 302,
        is: /^$/,
      },
      'nobody is signed in': { path: `${paths.authorize}?${query()}`, gives: 303, is: /^$/ },
      'approved before': { path: `${paths.authorize}?${query()}`, headers: known, gives: 302, is: /^$/ },
      'the user is asked': {
        path: `${paths.authorize}?${query({ prompt: 'consent' })}`,
        headers: known,
        gives: 200,
        is: /name="decision"/,
      },
      'another site led there': {
        path: `${paths.authorize}?${query()}`,
        headers: { Cookie: cookie, 'Sec-Fetch-Site': 'cross-site' },
        gives: 200,
        is: /name="decision"/,
      },
      'the user is asked, in German, beside a token that no length may tell of': {
        path: `${paths.authorize}?${query({ prompt: 'consent' })}`,
        headers: german,
        gives: 200,
        is: /<html lang="de">[^]*name="decision"/,
      },
      'two credentials': {
        path: `${paths.authorize}?${query()}`,
        headers: { ...known, Authorization: ['Basic a', 'Basic b'] },
        gives: 400,
        is: /credential header/,
      },
    }
    for (const [name, { gives, is, ...asked }] of Object.entries(cases)) {
      const { answer, events } = await bothWays(name, asked)
      assert.equal(answer.status, gives, `${name}: ${answer.text}`)
      assert.match(answer.text, is, name)
      assert.equal(answer.headers['content-encoding'], undefined)
      if (name === 'approved before')
        assert.deepEqual(
          events.map(({ type }) => type),
          ['grant.approve'],
        )
      if (gives === 302)
        assert.match(String(answer.headers['location']), /^https:\/\/app\.example\/callback\?/)
      if (name !== 'two credentials')
        assert.match(String(answer.headers['content-security-policy']), /frame-ancestors 'none'/)
    }
  })

  it('give browsers the same answers to a decision, with the same events', async () => {
    const asked = query({ prompt: 'consent' })
    const page = await send({
      path: `${paths.authorize}?${asked}`,
      headers: { Cookie: cookie, 'Sec-Fetch-Site': 'none' },
    })
    assert.match(page.text, /name="decision"/)
    const own = { ...form, Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' }
    const wrong = new URLSearchParams({
      csrf: 'x',
      time: String(Date.now()),
      request: asked,
      decision: 'approve',
    }).toString()
    const cases: Record<string, Asked & { readonly gives: number; readonly is: RegExp }> = {
      'of another page': {
        path: paths.authorize,
        headers: own,
        body: wrong,
        gives: 403,
        is: /not made for this browser/,
      },
      'of another site': {
        path: aliases.authorize,
        headers: { ...own, 'Sec-Fetch-Site': 'cross-site' },
        body: wrong,
        gives: 403,
        is: /another site/,
      },
      'no form': {
        path: paths.authorize,
        headers: { ...own, ...json },
        body: '{}',
        gives: 400,
        is: /must be application/,
      },
      'a packed form': {
        path: paths.authorize,
        headers: { ...own, 'Content-Encoding': 'gzip' },
        body: 'x',
        gives: 415,
        is: /not supported/,
      },
      'no UTF-8': {
        path: paths.authorize,
        headers: own,
        body: Buffer.from([0xff]),
        gives: 400,
        is: /not UTF-8/,
      },
      'a large form': {
        path: paths.authorize,
        headers: own,
        body: 'a='.padEnd(70_000, 'b'),
        gives: 413,
        is: /larger/,
      },
    }
    for (const [name, { gives, is, ...sent }] of Object.entries(cases)) {
      const { answer, events } = await bothWays(name, { ...sent, method: 'POST' })
      assert.equal(answer.status, gives, `${name}: ${answer.text}`)
      assert.match(answer.text, is, name)
      assert.deepEqual(events, [], name)
      assert.match(String(answer.headers['content-security-policy']), /frame-ancestors 'none'/)
    }
  })

  it('take an approval either way, once', async () => {
    const ways: Record<string, string>[] = [{}, { Origin: 'null' }, { Origin: service.url }]
    for (const headers of ways) {
      const browser = new Browser(service)
      for (const pair of cookie.split('; '))
        browser.cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
      const page = await browser.open(`${paths.authorize}?${query({ prompt: 'consent' })}`, {
        headers: { 'Sec-Fetch-Site': 'none' },
      })
      const before = await noted()
      const approved = await browser.submit(page, { decision: 'approve' }, headers)
      assert.match(String(approved.location), /^https:\/\/app\.example\/callback\?code=/)
      const known = new Set(before.events.map(({ id }) => id))
      const events = (await noted()).events.filter(({ id }) => !known.has(id))
      assert.deepEqual(
        events.map(({ type }) => type),
        ['grant.approve'],
      )
      const again = await browser.submit(page, { decision: 'approve' }, headers)
      assert.deepEqual([again.status, again.location], [403, undefined])
    }
  })

  it('are limited by one budget', async () => {
    const path = `${aliases.authorize}?client_id=x`
    let answers = 0
    while ((await send({ path })).status === 400 && answers++ < 1000);
    const { answer } = await bothWays('too many', { path })
    assert.equal(answer.status, 429)
    assert.equal(answer.headers['retry-after'], '…')
  })
})
