/**
 * What each step of OAuth costs the server's processor: the real daemon, durable, beside oidc-provider with its
 * in-memory adapter, in rounds that take turns. `node --import tsx bench/oauth/steps.ts [rounds]`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { aliases, paths } from '../../src/oauth/urls.ts'
import { copyOfShippedSite, startDaemon, temporaryFolder } from '../../test/helpers/daemon.ts'
import { Browser, callback, pkcePair } from '../../test/oauth/browser.ts'
import { password } from '../../test/oauth/server.ts'

const rounds = Number(process.argv[2] ?? 5)
const requestsARound = 100
const user = 'sales@example.com'

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
  readonly scope: string
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

interface Client {
  readonly id: string
  /** Of a confidential client. */
  readonly secret?: string
}

const undo: (() => unknown)[] = []
const cleanup = { after: (done: () => unknown) => void undo.push(done) } as never
const children: ChildProcess[] = []
try {
  await main()
} finally {
  for (const child of children) child.kill()
  for (const done of undo.reverse()) await done()
}

async function main(): Promise<void> {
  const targets = [await ours(), await oidcProvider()]
  const rows = new Map<string, number[][]>()
  const prepared = await Promise.all(targets.map(prepare))
  for (let round = 0; round <= rounds; round++)
    for (const [n, { target, steps }] of prepared.entries())
      for (const [name, step] of Object.entries(steps)) {
        const cost = await costOf(target, step)
        // The first round warms up.
        if (round === 0) continue
        const row = rows.get(name) ?? targets.map(() => [])
        row[n]!.push(cost)
        rows.set(name, row)
      }
  console.log(
    `| CPU µs a step | ${targets.map(({ name }) => name).join(' | ')} | ratio |\n|---|${'---|'.repeat(targets.length + 1)}`,
  )
  for (const [name, row] of rows) {
    const [own, peer] = row.map(median) as [number, number]
    console.log(`| ${name} | ${own.toFixed(0)} | ${peer.toFixed(0)} | ${(peer / own).toFixed(2)} × |`)
  }
}

/** The daemon on a copy of the shipped site, with nothing limited. */
async function ours(): Promise<Target> {
  const site = copyOfShippedSite(cleanup)
  const state = join(temporaryFolder(cleanup), 'state')
  const settings = join(site, 'config/settings.yaml')
  const text = readFileSync(settings, 'utf8')
  writeFileSync(settings, text.replace(/(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false'))
  const daemon = await startDaemon(cleanup, { site, state })
  const told = await daemon.cli(['users', 'passwd', user, '--password-stdin'], `${password}\n`)
  if (told.code !== 0) throw new Error(told.stderr)
  const at = {
    discovery: paths.authorizationServer,
    registration: paths.register,
    authorize: aliases.authorize,
    token: aliases.token,
    introspect: paths.introspect,
  }
  return {
    name: 'assistant-core (durable)',
    url: daemon.url,
    pid: daemon.process.pid!,
    at,
    scope: 'openid email',
  }
}

async function oidcProvider(): Promise<Target> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'peer-oidc.mjs')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  children.push(child)
  const port = await new Promise<number>((resolve) =>
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('"listening"')) resolve((JSON.parse(line) as { port: number }).port)
    }),
  )
  const at = {
    discovery: '/.well-known/openid-configuration',
    registration: '/reg',
    authorize: '/auth',
    token: '/token',
    introspect: '/token/introspection',
  }
  const url = `http://127.0.0.1:${port}`
  return { name: 'oidc-provider (in memory)', url, pid: child.pid!, at, scope: 'openid email offline_access' }
}

/** The steps, each with what it needs from the steps before. */
async function prepare(
  target: Target,
): Promise<{ target: Target; steps: Record<string, () => Promise<unknown>> }> {
  const { url, at } = target
  const client = await register(target, 'none')
  const confidential = await register(target, 'client_secret_post')
  const browser = new Browser({ url })
  const watched = await redeem(target, confidential, await authorize(target, confidential, browser))
  const lanes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const browser = new Browser({ url })
      return { browser, tokens: await redeem(target, client, await authorize(target, client, browser)) }
    }),
  )
  let turn = 0
  const next = (): (typeof lanes)[number] => lanes[turn++ % lanes.length]!
  return {
    target,
    steps: {
      discovery: () => answered(fetch(url + at.discovery)),
      'registration of a public client': () => register(target, 'none'),
      'registration of a confidential client': () => register(target, 'client_secret_post'),
      'authorize and exchange': async () => {
        const lane = next()
        lane.tokens = await redeem(target, client, await authorize(target, client, lane.browser))
      },
      refresh: async () => {
        const lane = next()
        const fields = { grant_type: 'refresh_token', refresh_token: lane.tokens.refresh_token }
        lane.tokens = (await form(target, at.token, client, fields)) as Tokens
      },
      introspection: async () => {
        const told = await form(target, at.introspect, confidential, { token: watched.access_token })
        if (!(told as { active: boolean }).active) throw new Error('a token that lives is told as dead')
      },
    },
  }
}

async function register({ url, at, scope }: Target, method: string): Promise<Client> {
  const { client_id: id, client_secret: secret } = (await answered(
    fetch(url + at.registration, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Bench',
        redirect_uris: [callback],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        scope,
        token_endpoint_auth_method: method,
      }),
    }),
  )) as { client_id: string; client_secret?: string }
  return { id, ...(secret !== undefined && { secret }) }
}

/** One authorization, with the browser's session where there is one: signed in and approved where it is asked. */
async function authorize({ url, at, scope }: Target, client: Client, browser: Browser) {
  const { verifier, challenge } = pkcePair()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: callback,
    scope,
    state: 'a state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })
  let page = await browser.open(`${url + at.authorize}?${query.toString()}`)
  for (let hop = 0; hop < 8 && page.location?.startsWith(callback) !== true; hop++) {
    if (page.body.includes('name="password"')) page = await browser.submit(page, { username: user, password })
    else if (page.body.includes('name="decision"')) page = await browser.submit(page, { decision: 'approve' })
    else page = await browser.open(page.location ?? '')
  }
  const code = new URL(page.location ?? 'about:blank').searchParams.get('code')
  if (code === null) throw new Error(`no code: ${page.status} ${page.location ?? page.body}`)
  return { code, verifier }
}

function redeem(target: Target, client: Client, { code, verifier }: { code: string; verifier: string }) {
  const fields = { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier }
  return form(target, target.at.token, client, fields) as Promise<{
    access_token: string
    refresh_token: string
  }>
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

/** Processor microseconds of the server for each of the round's requests, four at a time. */
async function costOf({ pid }: Target, step: () => Promise<unknown>): Promise<number> {
  const before = usedBy(pid)
  for (let n = 0; n < requestsARound; n += 4) await Promise.all(Array.from({ length: 4 }, step))
  return (usedBy(pid) - before) / requestsARound
}

/** Processor time that a process has used, in microseconds (proc(5): utime and stime, in ticks of 10 ms). */
function usedBy(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!
}
