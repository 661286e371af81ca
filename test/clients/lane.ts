/** A service of its own behind an observing proxy, and what a client that walks through it can ask to happen. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { folders, mcpPath, runService, type RunningService } from '../cli/running-service.ts'
import { authorizeInBrowser } from '../helpers/browser.ts'
import { type Exchange, observe } from './observed.ts'

/** What there is to do on the whole way. */
export const steps = [
  'discovery',
  'registration',
  'sign-in',
  'consent',
  'tools',
  'prompts',
  'resources',
  'call',
  'live edit',
  'expiry',
  'revocation',
] as const
export type Step = (typeof steps)[number]

/** Long enough for a slow machine to come to the edit, short enough to wait for. */
const accessSeconds = 30
const person = { username: 'sales@example.com', password: 'a password for clients' }
let edits = 0

/** One client's way, from a service that does not know it to one that does not know it any more. */
export interface Walk {
  /** The MCP endpoint. */
  readonly url: string
  /** The issuer. */
  readonly origin: string
  /** A home folder of the client's own. */
  readonly home: string
  readonly lane: Lane
  /** Signs in and approves, as a person does; answers where the service sends the browser. */
  signIn(address: string): Promise<URL>
  /** Changes a prompt, and waits until it was heard on a stream, but not for ever. */
  edit(): Promise<void>
  /** Waits until every access token has ended. */
  expire(): Promise<void>
  /** Takes back every approval. */
  revoke(): Promise<void>
  /** What was asked and answered, a line each. */
  story(): string
  /** What the service saw of it. */
  done(): ReadonlyMap<Step, string>
}

/** A running service that clients walk through one after the other. */
export interface Lane {
  readonly service: RunningService
  readonly person: { readonly username: string; readonly password: string }
  readonly personFile: string
  /** `hears`: whether the client is expected to hear of an edit, which is then worth waiting for. */
  begin(hears: boolean): Walk
  close(): Promise<void>
}

/** Starts a service; `settings` replaces texts of the shipped settings. */
export async function openLane(settings: readonly [string, string][] = []): Promise<Lane> {
  const undo: (() => unknown)[] = []
  const t = { after: (step: () => unknown) => void undo.push(step) }
  let target = ''
  const proxy = await observe(() => target)
  const short: [string, string] = ['access_token_seconds: 3600', `access_token_seconds: ${accessSeconds}`]
  const service = await runService(t, folders(t, [short, ...settings]), proxy.url)
  target = `http://127.0.0.1:${service.daemon.address.port}`
  await service.daemon.services.passwords.set(person.username, person.password)
  const scratch = mkdtempSync(join(tmpdir(), 'clients-'))
  const personFile = join(scratch, 'person.json')
  writeFileSync(personFile, JSON.stringify(person))
  const lane: Lane = {
    service,
    person,
    personFile,
    begin: (hears) => walkThrough(lane, proxy, mkdtempSync(join(scratch, 'home-')), hears),
    close: async () => {
      proxy.close()
      for (const step of undo.reverse()) await step()
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return lane
}

function walkThrough(
  lane: Lane,
  proxy: { readonly url: string; readonly seen: readonly Exchange[] },
  home: string,
  hears: boolean,
): Walk {
  const { service } = lane
  const start = proxy.seen.length
  const mine = (from = start): readonly Exchange[] => proxy.seen.slice(from)
  const heard = (): number =>
    mine().reduce((sum, { answered }) => sum + answered.split('/list_changed').length - 1, 0)
  const marks: { heardBefore?: number; heardAfter?: number; ended?: number; revoked?: number } = {}
  return {
    url: proxy.url + mcpPath,
    origin: proxy.url,
    home,
    lane,
    signIn: (address) => authorizeInBrowser(address, person),
    edit: async () => {
      marks.heardBefore = heard()
      const name = `edit-${++edits}`
      const text = `---\nprompt_id: ${name}\ntitle: ${name}\ndescription: An edit while clients are connected\nstatus: Published\nvisibility: Public\nrendering_engine: Raw\n---\nHello.\n`
      writeFileSync(join(service.site, 'prompts', `${name}.md`), text)
      await service.daemon.services.site.reload('test')
      const patience = hears ? 300 : 20
      for (let waits = 0; waits < patience && heard() === marks.heardBefore; waits++) await delay(50)
      marks.heardAfter = heard()
    },
    expire: async () => {
      const issued = mine().filter(({ sent, status }) => status === 200 && sent.includes('grant_type='))
      const last = Math.max(...issued.map(({ at }) => at))
      await delay(Math.max(0, last + (accessSeconds + 1) * 1000 - Date.now()))
      marks.ended = proxy.seen.length
    },
    revoke: async () => {
      const { tokens } = service.daemon.services
      for (const family of await tokens.families({ user: person.username }))
        await tokens.revoke({ family: family.id }, 'a test')
      marks.revoked = proxy.seen.length
    },
    story: () =>
      mine()
        .map(
          ({ method, path, status, sent }) => `${status} ${method} ${path.slice(0, 60)} ${sent.slice(0, 90)}`,
        )
        .join('\n'),
    done: () => stepsIn(mine(), mine(marks.ended ?? Infinity), mine(marks.revoked ?? Infinity), marks),
  }
}

/** What is seen on the wire, whatever the client says. */
function stepsIn(
  all: readonly Exchange[],
  afterEnd: readonly Exchange[],
  afterRevocation: readonly Exchange[],
  { heardBefore = 0, heardAfter = 0 }: { heardBefore?: number; heardAfter?: number },
): ReadonlyMap<Step, string> {
  const found = new Map<Step, string>()
  const mcp = (exchanges: readonly Exchange[], method: string): readonly Exchange[] =>
    exchanges.filter(
      ({ path, sent, status }) => path === mcpPath && status === 200 && sent.includes(`"${method}"`),
    )
  const has = (test: (exchange: Exchange) => boolean): boolean => all.some(test)
  if (has(({ path, status }) => path.startsWith('/.well-known/') && status === 200))
    found.set('discovery', 'yes')
  if (has(({ path, status }) => path.includes('register') && status === 201))
    found.set('registration', 'registers')
  if (has(({ path }) => /authorize\?.*client_id=https%3A/.test(path)))
    found.set('registration', 'its document')
  if (has(({ path, method, status }) => path.startsWith('/sign-in') && method === 'POST' && status === 303))
    found.set('sign-in', 'yes')
  if (has(({ path, method, status }) => /authorize/.test(path) && method === 'POST' && status === 302))
    found.set('consent', 'yes')
  for (const noun of ['tools', 'prompts', 'resources'] as const)
    if (mcp(all, `${noun}/list`).length > 0) found.set(noun, 'yes')
  const works = (exchanges: readonly Exchange[]): boolean =>
    mcp(exchanges, 'tools/call').some(({ answered }) => /"isError": ?false/.test(answered))
  if (works(all)) found.set('call', 'yes')
  if (heardAfter > heardBefore) found.set('live edit', 'hears it')
  const grants = (type: string): number =>
    all.filter(
      ({ sent, status }) => status === 200 && sent.includes(`grant_type=${encodeURIComponent(type)}`),
    ).length
  const renewed = grants('refresh_token') > 0 || grants('urn:ietf:params:oauth:grant-type:jwt-bearer') > 1
  if (renewed && works(afterEnd)) found.set('expiry', 'renews')
  const isMcp = ({ path }: Exchange): boolean => path === mcpPath
  if (
    afterRevocation.some((exchange) => isMcp(exchange) && exchange.status === 401) &&
    // A stream that was opened a moment before is answered, and ended.
    !afterRevocation.some(
      (exchange) => isMcp(exchange) && exchange.method === 'POST' && exchange.status === 200,
    )
  )
    found.set('revocation', 'refused')
  return found
}
