/** A real authorization server for tests: our factories on a free port, the embedded store in a temporary folder, a movable clock. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Router } from '@koa/router'
import Koa, { type Context } from 'koa'
import type { AuditLine } from '#audit/audit.ts'
import { openAudit } from '#audit/open-audit.ts'
import type { Clock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import type { Powers, PowersOf } from '../../src/core/powers.ts'
import type { Principal } from '../../src/core/principal.ts'
import { compileSchema } from '#leaf/schema.ts'
import { secretsIn } from '#leaf/secret-files.ts'
import { settingsSchema, type Settings } from '../../src/core/settings.ts'
import { RunningCalls } from '../../src/mcp/running.ts'
import { SuspendedCalls } from '../../src/mcp/waiting/suspended-calls.ts'
import { Tasks } from '../../src/mcp/waiting/tasks.ts'
import { Assertions } from '../../src/oauth/clients/assertions.ts'
import type { ClientLimits } from '../../src/oauth/acting.ts'
import { bearer } from '../../src/oauth/bearer.ts'
import { ClientDocuments } from '../../src/oauth/clients/client-documents.ts'
import { Clients } from '../../src/oauth/clients/clients.ts'
import { Codes } from '../../src/oauth/tokens/codes.ts'
import { PushedRequests } from '../../src/oauth/pushed-requests.ts'
import { crossOrigin } from '../../src/oauth/cors.ts'
import {
  authorizationServerEndpoint,
  jwksEndpoint,
  openidConfigurationEndpoint,
  protectedResourceEndpoint,
  unknownWellKnownEndpoint,
} from '../../src/oauth/endpoints/discovery-endpoint.ts'
import { Grants } from '../../src/oauth/tokens/grants.ts'
import { guardedFetch, type GuardedFetch } from '#outside/guarded-fetch.ts'
import { introspectionEndpoint } from '../../src/oauth/endpoints/introspection-endpoint.ts'
import { IdentityProviders } from '../../src/oauth/identity-assertions.ts'
import { Keys } from '../../src/oauth/tokens/keys.ts'
import type { Family } from '../../src/oauth/records.ts'
import { RateLimits } from '../../src/oauth/rate-limits.ts'
import { pushedRequestEndpoint } from '../../src/oauth/endpoints/pushed-request-endpoint.ts'
import { registrationEndpoint } from '../../src/oauth/endpoints/registration-endpoint.ts'
import { revocationEndpoint } from '../../src/oauth/endpoints/revocation-endpoint.ts'
import { tokenEndpoint } from '../../src/oauth/endpoints/token-endpoint.ts'
import { Tokens } from '../../src/oauth/tokens/tokens.ts'
import { Trace } from '../../src/oauth/trace.ts'
import { aliases, paths, resourceOf } from '../../src/oauth/urls.ts'
import { signedIn } from '../../src/users/browser-middleware.ts'
import { OpenIdProvider } from '../../src/oauth/upstream.ts'
import { TokenUsage } from '../../src/oauth/tokens/usage.ts'
import { userinfoEndpoint } from '../../src/oauth/endpoints/userinfo-endpoint.ts'
import { authorizationPages } from '../../src/pages/account/authorization-pages.ts'
import { pages } from '../../src/pages/pages.ts'
import { routePage } from '../../src/pages/route-page.ts'
import { answers } from '../../src/pages/routes.ts'
import { viewsFor } from '../../src/pages/views.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import type { Store, Stored } from '#state/store.ts'
import { ApiKeys } from '#credentials/api-keys.ts'
import type { Passwords } from '#credentials/passwords.ts'
import { openSignIn } from '../../src/house/sign-in-door.ts'
import { peopleOf, type People, type User } from '../../src/users/people.ts'
import { requireNoSecrets } from '../helpers/leaks.ts'

/** A clock that stands still until it is moved. */
export class MovableClock implements Clock {
  #now = Date.parse('2026-03-01T12:00:00Z')
  now(): number {
    return this.#now
  }
  pass(seconds: number): void {
    this.#now += seconds * 1000
  }
}

/** Settings with the defaults, and changes to some sections. */
export function makeSettings(
  changes: { [Section in keyof Settings]?: Partial<Settings[Section]> } = {},
): Settings {
  const settings: Record<string, unknown> = {}
  const problems = compileSchema(settingsSchema, { defaults: true })(settings)
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  for (const [section, values] of Object.entries(changes)) Object.assign(settings[section] as object, values)
  return settings as unknown as Settings
}

/** A user as tests need one. */
export function makeUser(id: string, changes: Partial<User> = {}): User {
  return {
    id,
    fullName: id.split('@')[0] ?? id,
    enabled: true,
    assistantEnabled: true,
    roles: new Set(['Assistant User', 'Sales User']),
    source: 'config/users.yaml:1',
    ...changes,
  }
}

export const password = 'a password for tests'

const shipped = [
  makeUser('sales@example.com'),
  makeUser('hr@example.com', { roles: new Set(['Assistant User', 'HR User']) }),
  makeUser('norole@example.com', { roles: new Set(['Sales User']) }),
  makeUser('admin@example.com', { roles: new Set(['System Manager', 'Assistant Admin', 'Assistant User']) }),
  makeUser('disabled@example.com', { assistantEnabled: false }),
]

/** The server of these tests has no platform; what the real one says, `test/e2e/powers.test.ts` compares. */
const somePowers: Powers = {
  read: ['Customer', 'Item'],
  create: ['Customer'],
  change: ['Customer'],
  remark: [],
  delete: [],
  programs: false,
  others: [],
  effects: ['use_library'],
  tools: ['List documents'],
}

export interface ServerOptions {
  readonly settings?: Parameters<typeof makeSettings>[0]
  /** The folder of secrets. */
  readonly secrets?: string
  readonly publicUrl?: string
  readonly fetch?: GuardedFetch
  readonly clientLimits?: ClientLimits
  readonly folder?: string
}

interface KeptPassword extends Stored {
  readonly hash: string
  readonly changedAt: number
}

let hashed: KeptPassword | undefined

/** Gives users the password of the tests; for all tests of a process it is hashed once, which takes the longest. */
async function givePasswords(store: Store, passwords: Passwords, users: readonly string[]): Promise<void> {
  const kept = store.collection<KeptPassword>({ name: 'users.password' })
  if (!hashed) {
    await passwords.set(users[0]!, password)
    hashed = await kept.get(users[0]!)
  }
  for (const id of users) await kept.put({ ...hashed!, id })
}

/** The pages that need no site. */
const served = [
  'signIn',
  'signInPasskey',
  'secondStep',
  'oneTimeLink',
  'account',
  'signInUpstream',
  'signInUpstreamCallback',
  'signOut',
  'connectedApps',
  'consent',
  'stylesheet',
] as const

export type TestServer = Awaited<ReturnType<typeof startServer>>

/** Starts it; everything ends with the test. */
export async function startServer(t: TestContext, options: ServerOptions = {}) {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'oauth-')))
  const logged: string[] = []
  const log = createLog('debug', { write: (line) => void logged.push(line) })
  const clock = new MovableClock()
  let settings = makeSettings(options.settings)
  let users = new Map(shipped.map((user) => [user.id, user]))
  let publicUrl = ''
  const people = (): People => peopleOf({ users, roles: new Map() })
  const base = {
    settings: () => settings,
    people,
    publicUrl: () => options.publicUrl ?? publicUrl,
    clock,
    log,
  }
  const store = await openEmbeddedStore({ folder: join(folder, 'state'), clock, log })
  const audit = await openAudit({ folder: join(folder, 'audit'), store, clock, log })
  const fetch = options.fetch ?? guardedFetch()
  const ended: Family[] = []
  const tokens = new Tokens({
    ...base,
    store,
    onRevoked: (families) => void ended.push(...(families as Family[])),
  })
  const documents = new ClientDocuments({ ...base, store, fetch })
  const clients = new Clients({ ...base, store, tokens, documents })
  const assertions = new Assertions({ ...base, store, fetch })
  const credentials = openSignIn({ ...base, store, audit })
  const nouns = {
    ...base,
    ...credentials,
    store,
    audit,
    tokens,
    clients,
    clientDocuments: documents,
    codes: new Codes({ ...base, store }),
    pushed: new PushedRequests({ ...base, store }),
    grants: new Grants({ ...base, store }),
    keys: new Keys({ ...base, store }),
    apiKeys: new ApiKeys({ ...base, store, tellIn: (tx, ended) => tokens.tellIn(tx, [ended]) }),
    assertions,
    identityProviders: new IdentityProviders({ ...base, assertions, fetch }),
    limits: new RateLimits({ ...base, store }),
    trace: new Trace({ ...base, store }),
    suspended: new SuspendedCalls({ ...base, store, audit, pageOf: (id) => id }),
    tasks: new Tasks({ ...base, store, running: new RunningCalls(store, audit) }),
    upstream: new OpenIdProvider({
      ...base,
      store,
      callback: pages.signInUpstreamCallback.path,
      secretPath: secretsIn({ secrets_folder: options.secrets ?? null }, { state: folder }),
    }),
    usage: new TokenUsage({ ...base, store }),
    clientLimits: options.clientLimits ?? (() => undefined),
    render: viewsFor({ ...base, doctypes: () => new Map() }),
  }
  const powers: PowersOf = (user) => (people().find(user)?.assistantEnabled ? somePowers : undefined)
  const deps = {
    ...nouns,
    powers,
    pages: authorizationPages(nouns.render),
    refreshed: (principal: Principal) => principal,
  }

  const router = new Router()
  router.get(paths.openidConfiguration, openidConfigurationEndpoint(deps))
  router.get(paths.authorizationServer, authorizationServerEndpoint(deps))
  router.get(paths.authorizationServer + paths.mcp, authorizationServerEndpoint(deps))
  router.get(paths.protectedResource, protectedResourceEndpoint(deps))
  router.get(paths.protectedResource + paths.mcp, protectedResourceEndpoint(deps))
  router.get(/^\/\.well-known\//, unknownWellKnownEndpoint())
  router.get(paths.jwks, jwksEndpoint(deps))
  for (const path of [paths.register, aliases.register]) router.post(path, registrationEndpoint(deps))
  router.post(paths.pushed, pushedRequestEndpoint(deps))
  for (const path of [paths.token, aliases.token]) router.post(path, tokenEndpoint(deps))
  router.post(paths.revoke, revocationEndpoint(deps))
  router.post(paths.introspect, introspectionEndpoint(deps))
  router.get(paths.userinfo, userinfoEndpoint(deps)).post(paths.userinfo, userinfoEndpoint(deps))
  // Its start page has no documents to tell of.
  const home = async (ctx: Context) => {
    const { user = '' } = (await signedIn(ctx, deps)) ?? {}
    const goodbye = ctx.querystring === 'signed_out=1'
    return { user, goodbye, mcp: resourceOf(deps.publicUrl()), work: undefined, steps: [] }
  }
  routePage(router, pages.home, home, deps)
  for (const name of served) routePage(router, pages[name], answers[name](deps), deps)
  router.all(paths.mcp, bearer(deps), (ctx) => {
    const { roles, ...principal } = ctx.state['principal'] as Principal
    ctx.body = { ...principal, roles: [...roles] }
  })

  const app = new Koa()
  app.silent = true
  app.on('error', (error) => log.error('bug', { error: error as Error }))
  app.use(crossOrigin(deps)).use(router.routes()).use(router.allowedMethods())
  const listener = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => listener.once('listening', resolve))
  publicUrl = `http://localhost:${(listener.address() as AddressInfo).port}`
  await givePasswords(store, nouns.passwords, [...users.keys()])

  let closed = false
  async function close(): Promise<void> {
    if (closed) return
    closed = true
    listener.closeAllConnections()
    await new Promise((resolve) => listener.close(resolve))
    await nouns.usage.close()
    await audit.close()
    await store.close()
  }
  t.after(async () => {
    await close()
    requireNoSecrets(folder, logged.join(''))
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true })
  })
  return {
    ...nouns,
    folder,
    /** The families whose revocation was told of. */
    ended,
    logged,
    close,
    /** Where it listens; the public URL unless another is set. */
    url: publicUrl,
    change: (changes: Parameters<typeof makeSettings>[0]) => {
      settings = makeSettings({ ...options.settings, ...changes })
    },
    setUsers: (changed: readonly User[]) => {
      users = new Map(changed.map((user) => [user.id, user]))
    },
    users: () => [...users.values()],
    /** What the audit log tells, oldest first. */
    auditEvents: async (type: string): Promise<AuditLine[]> => {
      await audit.settled()
      const files = (await readdir(audit.folder)).filter((file) => file.endsWith('.jsonl')).sort()
      const texts = await Promise.all(files.map((file) => readFile(join(audit.folder, file), 'utf8')))
      const lines = texts
        .join('')
        .split('\n')
        .filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line) as AuditLine).filter((line) => line.type === type)
    },
  }
}
