/**
 * What each step of OAuth costs the server's processor: the real daemon, durable, beside oidc-provider with its
 * in-memory adapter, the same steps of both in rounds that take turns, each answer checked.
 * `node --import tsx bench/oauth/steps.ts [ROUNDS]`, after `npm run build`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { aliases, paths } from '../../src/oauth/urls.ts'
import { runCli } from '../../test/helpers/daemon.ts'
import { Browser, pkcePair } from '../../test/oauth/browser.ts'
import { password } from '../../test/oauth/server.ts'
import {
  median,
  startServerProcess,
  startService,
  stopServerProcesses,
  table,
  usedBy,
} from '../server-process.ts'

const rounds = Number(process.argv[2] ?? 20)
// A daemon runs for days; in its first rounds, half of what a step costs is the compiler's.
const warmUps = 10
// The peer's memory holds a thousand of each thing.
const requestsARound = 160
const lanes = 16
const user = 'sales@example.com'
// Not on the user's own machine: an approval for such an app is never remembered.
const callback = 'https://app.example/callback'
const folder = mkdtempSync(join(tmpdir(), 'assistant-core-steps-'))

interface Endpoints {
  readonly discovery: string
  readonly registration: string
  readonly authorize: string
  readonly token: string
  readonly introspect: string
}

interface Target {
  readonly name: string
  readonly url: string
  readonly pid: number
  readonly at: Endpoints
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token?: string
}

interface Client {
  readonly id: string
  /** Of a confidential client. */
  readonly secret?: string
}

interface Code {
  readonly code: string
  readonly verifier: string
}

try {
  await main()
} finally {
  await stopServerProcesses()
  rmSync(folder, { recursive: true, force: true })
}

async function main(): Promise<void> {
  const targets = [await ours(), await oidcProvider()]
  const costs = new Map<string, number[][]>()
  for (let round = 0; round < warmUps + rounds; round++)
    for (const [n, target] of targets.entries())
      for (const [name, step] of Object.entries(await stepsOf(target))) {
        const cost = await costOf(target, step)
        const row = costs.get(name) ?? targets.map(() => [])
        costs.set(name, row)
        if (round >= warmUps) row[n]!.push(cost)
      }
  table(
    ['CPU µs a step', ...targets.map(({ name }) => name), 'ratio'],
    [...costs].map(([name, row]) => {
      const [own, peer] = row.map(median) as [number, number]
      return [name, Math.round(own), Math.round(peer), `${(peer / own).toFixed(2)} ×`]
    }),
  )
}

/** The daemon on a copy of the shipped site, with nothing limited. */
async function ours(): Promise<Target> {
  const { port, pid } = await startService(folder)
  const env = { ASSISTANT_CORE_SITE: join(folder, 'site'), ASSISTANT_CORE_STATE: join(folder, 'state') }
  const told = await runCli(['users', 'passwd', user, '--password-stdin'], { env, input: `${password}\n` })
  if (told.code !== 0) throw new Error(told.stderr)
  const at = {
    discovery: paths.authorizationServer,
    registration: paths.register,
    authorize: aliases.authorize,
    token: aliases.token,
    introspect: paths.introspect,
  }
  return { name: 'assistant-core (durable)', url: `http://localhost:${port}`, pid, at }
}

async function oidcProvider(): Promise<Target> {
  const { port, pid } = await startServerProcess([join(import.meta.dirname, 'peer-oidc.mjs')])
  const at = {
    discovery: '/.well-known/openid-configuration',
    registration: '/reg',
    authorize: '/auth',
    token: '/token',
    introspect: '/token/introspection',
  }
  return { name: 'oidc-provider (in memory)', url: `http://127.0.0.1:${port}`, pid, at }
}

/** The steps of a round, each with what it needs from those before: anew, since the peer forgets and slows down with time. */
async function stepsOf(target: Target): Promise<Record<string, () => Promise<unknown>>> {
  const { url, at } = target
  const client = await register(target, 'none')
  const confidential = await register(target, 'client_secret_post')
  const begin = async (one: Client, browser: Browser): Promise<Tokens> =>
    redeem(target, one, await authorize(target, one, browser, 'openid all', true))
  const watched = await begin(confidential, new Browser({ url }))
  const all = await Promise.all(
    Array.from({ length: lanes }, async () => {
      const browser = new Browser({ url })
      return { browser, tokens: await begin(client, browser) }
    }),
  )
  let turn = 0
  const next = (): (typeof all)[number] => all[turn++ % lanes]!
  const codes: Code[] = []
  const approved = (scope: string, isAsked: boolean) => async (): Promise<unknown> =>
    codes.push(await authorize(target, client, next().browser, scope, isAsked))
  const exchanged = (isOpenid: boolean) => async (): Promise<void> => {
    next().tokens = checked(isOpenid, await redeem(target, client, codes.pop()!))
  }
  const refreshed = (isOpenid: boolean) => async (): Promise<void> => {
    const lane = next()
    const fields = { grant_type: 'refresh_token', refresh_token: lane.tokens.refresh_token }
    lane.tokens = checked(isOpenid, (await form(target, at.token, client, fields)) as Tokens)
  }
  return {
    discovery: () => answered(fetch(url + at.discovery)),
    introspection: async () => {
      const told = await form(target, at.introspect, confidential, { token: watched.access_token })
      if (!(told as { active: boolean }).active) throw new Error('a token that lives is told as dead')
    },
    'registration of a public client': () => register(target, 'none'),
    'registration of a confidential client': () => register(target, 'client_secret_post'),
    'authorize, approved before': approved('all', false),
    'code exchange': exchanged(false),
    refresh: refreshed(false),
    'authorize, the user is asked': approved('openid all', true),
    'code exchange with an ID token': exchanged(true),
    'refresh with an ID token': refreshed(true),
  }
}

function checked(isOpenid: boolean, tokens: Tokens): Tokens {
  if ((tokens.id_token !== undefined) !== isOpenid) throw new Error('ID token: there or not there')
  if (!tokens.access_token || !tokens.refresh_token) throw new Error('a token is missing')
  return tokens
}

async function register({ url, at }: Target, method: string): Promise<Client> {
  const { client_id: id, client_secret: secret } = (await answered(
    fetch(url + at.registration, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Bench',
        redirect_uris: [callback],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope: 'openid all',
        token_endpoint_auth_method: method,
      }),
    }),
  )) as { client_id: string; client_secret?: string }
  return { id, ...(secret !== undefined && { secret }) }
}

/** One authorization in a browser, where nobody signs in but the first time; with consent asked, or as approved before. */
async function authorize(
  { url, at }: Target,
  client: Client,
  browser: Browser,
  scope: string,
  isAsked: boolean,
): Promise<Code> {
  const { verifier, challenge } = pkcePair()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: callback,
    scope,
    state: 'a state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...(isAsked && { prompt: 'consent' }),
  })
  const headers = { 'Sec-Fetch-Site': 'none' }
  let page = await browser.open(`${url + at.authorize}?${query.toString()}`, { headers })
  let asked = false
  for (let hop = 0; hop < 8 && page.location?.startsWith(callback) !== true; hop++) {
    if (page.body.includes('name="password"')) page = await browser.submit(page, { username: user, password })
    else if (page.body.includes('name="decision"')) {
      asked = true
      page = await browser.submit(page, { decision: 'approve' })
    } else page = await browser.open(page.location ?? '', { headers })
  }
  const code = new URL(page.location ?? 'about:blank').searchParams.get('code')
  if (code === null) throw new Error(`no code: ${page.status} ${page.location ?? page.body}`)
  if (asked !== isAsked) throw new Error(asked ? 'consent was asked' : 'no consent was asked')
  return { code, verifier }
}

function redeem(target: Target, client: Client, { code, verifier }: Code): Promise<Tokens> {
  const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier }
  return form(target, target.at.token, client, fields) as Promise<Tokens>
}

function form(
  { url }: Target,
  path: string,
  client: Client,
  fields: Record<string, string>,
): Promise<unknown> {
  const body = new URLSearchParams({
    ...fields,
    client_id: client.id,
    ...(client.secret && { client_secret: client.secret }),
  })
  return answered(fetch(url + path, { method: 'POST', body }))
}

async function answered(asked: Promise<Response>): Promise<unknown> {
  const response = await asked
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 300)}`)
  return JSON.parse(text) as unknown
}

/** Processor microseconds of the server for each of the round's requests, a few at a time. */
async function costOf({ pid }: Target, step: () => Promise<unknown>): Promise<number> {
  const before = usedBy(pid)
  for (let n = 0; n < requestsARound; n += lanes) await Promise.all(Array.from({ length: lanes }, step))
  return (usedBy(pid) - before) / requestsARound
}
