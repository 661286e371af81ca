/** Builds everything that holds state, once and in order; the only file that says `new` on a noun. */
import { join } from 'node:path'
import { openAnalysis, type Analysis } from '../analysis/analysis.ts'
import { openAudit, type AuditLog } from '../audit/open-audit.ts'
import { auditSettingsOf } from '../audit/settings.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { createLog, type Log, type LogLevel } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import { randomSecret } from '../core/secrets.ts'
import { version } from '../core/version.ts'
import { DoctorProbe } from '../http/doctor-probe.ts'
import { Places } from '../http/places.ts'
import { clientLimitOf } from '../documents/client-limits.ts'
import { createDocumentMemory } from '../documents/memory.ts'
import { noSql } from '../documents/run-sql.ts'
import { loadSeeds } from '../documents/seeds.ts'
import { followRefs } from '../library/follow-refs.ts'
import { Librarian } from '../library/librarian.ts'
import { promptMethods, type PromptMethods } from '../library/prompt-methods.ts'
import { PromptWriter } from '../library/writing.ts'
import { Running } from '../mcp/running.ts'
import { Subscriptions } from '../mcp/subscriptions.ts'
import { SuspendedCalls } from '../mcp/suspended-calls.ts'
import { Metrics } from '../http/metrics.ts'
import { Assertions } from '../oauth/assertions.ts'
import { currentPrincipal, type ClientLimits } from '../oauth/bearer.ts'
import { ClientDocuments } from '../oauth/client-documents.ts'
import { Clients } from '../oauth/clients.ts'
import { Codes } from '../oauth/codes.ts'
import { Grants } from '../oauth/grants.ts'
import { guardedFetch } from '../oauth/guarded-fetch.ts'
import { Keys } from '../oauth/keys.ts'
import { RateLimits } from '../oauth/rate-limits.ts'
import { Tokens } from '../oauth/tokens.ts'
import { Trace } from '../oauth/trace.ts'
import { Upstream } from '../oauth/upstream.ts'
import { resourceOf } from '../oauth/urls.ts'
import { Usage } from '../oauth/usage.ts'
import { readSettings } from '../site/read-settings.ts'
import { readSite } from '../site/read-site.ts'
import { openSite, type ReloadResult, type Site } from '../site/site.ts'
import { faultText } from '../site/site-files.ts'
import { type OpenedState, openState } from './open-state.ts'
import { buildSnapshot, readBuiltIns, type Snapshot } from './snapshot.ts'
import type { Store, Stored } from '../store/store.ts'
import { openTracing, type Tracing } from '../http/tracing.ts'
import { createCalls } from '../tools/calls.ts'
import { analysisTools } from '../tools/analysis-tools.ts'
import { builtInTools } from '../tools/index.ts'
import { OwnTools } from '../tools/own/own-tools.ts'
import { reportSql } from '../tools/report-sql.ts'
import { ApiKeys } from '../users/api-keys.ts'
import { Passwords } from '../users/passwords.ts'
import { Sessions } from '../users/sessions.ts'
import { SignIn } from '../users/sign-in.ts'

export interface ServicesOptions {
  readonly site: string
  readonly state: string
  /** Instead of the setting `public_url`. */
  readonly publicUrl?: string
  readonly clock?: Clock
  readonly log?: Log
  readonly logLevel?: LogLevel
}

/** What the daemon and the offline command line work with. */
export interface Services {
  readonly folders: { readonly site: string; readonly state: string }
  readonly startedAt: number
  readonly clock: Clock
  readonly log: Log
  readonly store: OpenedState
  readonly audit: AuditLog
  readonly metrics: Metrics
  readonly places: Places
  readonly probe: DoctorProbe
  /** Absent unless the site asks for traces; only a daemon has it. */
  readonly tracing: Tracing | undefined
  readonly site: Site<Snapshot>
  readonly librarian: Librarian
  /** The prompt template methods of specification §4.7, by name. */
  readonly promptMethods: PromptMethods
  /** What this machine can compute; only a daemon has it. */
  readonly analysis: Analysis | undefined
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly signIn: SignIn
  readonly apiKeys: ApiKeys
  readonly tokens: Tokens
  readonly clients: Clients
  readonly clientDocuments: ClientDocuments
  readonly codes: Codes
  readonly grants: Grants
  readonly keys: Keys
  readonly assertions: Assertions
  readonly usage: Usage
  readonly limits: RateLimits
  readonly trace: Trace
  readonly upstream: Upstream
  readonly subscriptions: Subscriptions
  readonly suspended: SuspendedCalls
  /** The MCP calls that run now. */
  readonly running: Running
  /** What a client may at most use, whoever it acts for. */
  readonly clientLimits: ClientLimits
  /** A principal as it would be made now; undefined once the user may not use the service. */
  readonly refreshed: (principal: Principal) => Principal | undefined
  /** Signs what MCP clients carry for us; survives restarts. */
  readonly signingKey: string
  /** The origin that every published URL begins with, without a trailing slash (D1). */
  publicUrl(): string
  mcpUrl(): string
  /** The daemon listens on this port: part of the public URL when none is set. */
  listening(port: number): void
  /** The password that was made because nobody had one; undefined when somebody had. Shown once. */
  firstSignIn(): Promise<{ user: string; password: string } | undefined>
  /** Ends the streams that would keep a stopping daemon alive. */
  drain(): void
  close(): Promise<void>
}

/** The user for whom a password is made when a state is new. */
const firstUser = 'admin@example.com'

/** Opens the state and reads the site. AppError `conflict` when another process has the state, `invalid` with `data.faults` for a bad site. */
export async function openServices(
  options: ServicesOptions & { readonly daemon?: boolean },
): Promise<Services> {
  const clock = options.clock ?? systemClock
  const log = options.log ?? createLog(options.logLevel ?? 'info', process.stdout)
  const undo: (() => unknown)[] = []
  try {
    return await build({ ...options, clock, log }, undo)
  } catch (error) {
    for (const close of undo.reverse()) await close()
    throw error
  }
}

type Building = ServicesOptions & { readonly daemon?: boolean; readonly clock: Clock; readonly log: Log }

async function build(options: Building, undo: (() => unknown)[]): Promise<Services> {
  const { clock, log } = options
  const store = await openState({ ...options, clock, log })
  undo.push(() => store.close())
  const metrics = new Metrics()
  const audit = metrics.counting(await openAudit({ folder: join(options.state, 'audit'), store, clock, log }))
  undo.push(() => audit.close())

  const early = options.daemon ? await earlySettings(options.site) : undefined
  const tracing = early && (await openTracing(early, log))
  undo.push(() => tracing?.close())

  const calls = createCalls()
  const memory = createDocumentMemory()
  // What computes outside the process is the daemon's: starting it would make every command slow.
  const analysis = early && (await openAnalysis({ settings: early.analysis, log }))
  undo.push(() => analysis?.close())
  const ownTools = new OwnTools(log, version)
  undo.push(() => ownTools.close())
  const runSql = analysis ? reportSql(analysis.sql) : noSql
  const tools = [...builtInTools, ...(analysis ? analysisTools(analysis, clock) : [])]
  const librarian = new Librarian({ store, audit, clock })
  undo.push(() => librarian.close())
  const builtIns = await readBuiltIns()
  const site: Site<Snapshot> = await openSite<Snapshot>({
    folder: options.site,
    build: (files) =>
      buildSnapshot(files, {
        store,
        audit,
        clock,
        log,
        calls,
        librarian,
        memory,
        runSql,
        ownTools,
        builtIns,
        tools,
        tracing,
        current: (principal) => refreshed(principal),
        newest: () => site.current().catalogue,
      }),
    clock,
    log,
    watch: options.daemon ?? false,
    onSwap: (snapshot, result) => swapped(snapshot, result),
    onRejected: (result) => rejected(result),
  })
  undo.push(() => site.close())
  const settings = (): Snapshot['settings'] => site.current().settings
  const people = (): Snapshot['people'] => site.current().people
  if (!options.logLevel) log.setLevel(settings().log.level)
  audit.configure(auditSettingsOf(settings().audit))

  let port = settings().server.port
  const publicUrl = (): string =>
    withoutSlash(options.publicUrl ?? settings().public_url ?? `http://localhost:${port}`)

  const passwords = new Passwords({ store, clock, people })
  const sessions = new Sessions({ store, clock, settings, people })
  const signIn = new SignIn({ clock, people, passwords, audit })
  const apiKeys = new ApiKeys({ store, clock, people })
  const tokens = new Tokens({
    store,
    clock,
    settings,
    onRevoked: (ended) => {
      const isOver = ({ user, client }: Principal): boolean =>
        ended?.some((family) => family.user === user && family.client === client?.id) ?? true
      subscriptions.closeWhere(isOver)
      // Not known whose: streams are opened again at once, but work that is half done would be lost.
      if (ended) running.endWhere(isOver)
    },
  })
  const fetch = guardedFetch()
  const clientDocuments = new ClientDocuments({ store, clock, settings, fetch, log })
  const clients = new Clients({ store, clock, settings, tokens, documents: clientDocuments })
  const limits = new RateLimits({ settings })
  const places = new Places({ clock, most: () => settings().server.max_concurrent_requests })
  undo.push(() => places.close())
  const usage = new Usage({ store, clock, log })
  undo.push(() => usage.close())
  const clientLimits: ClientLimits = (id) => clientLimitOf(site.current().platform, id)
  const refreshed = (principal: Principal): Principal | undefined =>
    currentPrincipal({ people, clientLimits }, principal)
  const subscriptions = new Subscriptions({
    clock,
    snapshot: (principal) => site.current().for(principal),
    refreshed,
  })
  const suspended = new SuspendedCalls({ clock, audit, publicUrl })
  const running = new Running()
  const signingKey = await signingKeyOf(store)

  async function swapped(snapshot: Snapshot, result: ReloadResult): Promise<void> {
    if (!options.logLevel) log.setLevel(snapshot.settings.log.level)
    audit.configure(auditSettingsOf(snapshot.settings.audit))
    metrics.reloaded(result)
    subscriptions.changed()
    await audit.record({
      type: 'site.reload',
      status: 'ok',
      user: 'system',
      target: result.digest.slice(0, 12),
      data: { reason: result.reason },
    })
  }

  async function rejected(result: ReloadResult): Promise<void> {
    metrics.reloaded(result)
    const faults = result.faults.slice(0, 50).map(faultText)
    await audit.record({
      type: 'site.reload',
      status: 'error',
      user: 'system',
      data: { reason: result.reason, faults },
    })
  }

  const library = (): Snapshot['library'] => site.current().library
  const writer = new PromptWriter({
    folder: options.site,
    library,
    versions: librarian.versions,
    audit,
    commits: () => settings().git.commit,
    reload: () => site.reload('a prompt was written'),
  })

  if (options.daemon)
    metrics.observe({
      site: () => site.state(),
      store: () => store.stats(),
      audit,
      streams: () => subscriptions.size,
      limits: () => limits.counts(),
      analysis,
      isTool: (name) => site.current().tools.some((tool) => tool.name === name),
    })

  const following = options.daemon
    ? await followRefs(options.site, librarian, {
        library,
        channels: () => settings().library.channels,
        onRefreshed: async ({ changed, faults }) => {
          for (const fault of faults)
            log.error('a channel of the library cannot follow its branch', { fault: faultText(fault) })
          if (changed) subscriptions.changed()
        },
        onError: (error) => log.error('the branches of the library could not be looked at', { error }),
      })
    : undefined
  undo.push(() => following?.close())
  // Registrations prune as well; this is for a server at which nobody registers any more.
  const pruning = options.daemon
    ? setInterval(
        () => void clients.prune().catch((error: unknown) => log.error('pruning clients failed', { error })),
        3_600_000,
      ).unref()
    : undefined
  undo.push(() => clearInterval(pruning))

  const { documents, seeds } = site.current()
  await loadSeeds(documents, seeds)
  return {
    folders: { site: options.site, state: options.state },
    startedAt: clock.now(),
    clock,
    log,
    store,
    audit,
    metrics,
    places,
    probe: new DoctorProbe({ clock }),
    tracing,
    site,
    librarian,
    promptMethods: promptMethods({
      library,
      usage: librarian.usage,
      versions: librarian.versions,
      writer,
    }),
    analysis,
    passwords,
    sessions,
    signIn,
    apiKeys,
    tokens,
    clients,
    clientDocuments,
    codes: new Codes({ store, clock, settings }),
    grants: new Grants({ store, clock }),
    keys: new Keys({ store, clock }),
    assertions: new Assertions({ store, clock, publicUrl, fetch }),
    usage,
    limits,
    trace: new Trace({ clock }),
    upstream: new Upstream({ store, clock, settings, publicUrl, log, folder: options.site }),
    subscriptions,
    suspended,
    running,
    clientLimits,
    refreshed,
    signingKey,
    publicUrl,
    mcpUrl: () => resourceOf(publicUrl()),
    listening: (bound) => {
      port = bound
    },
    firstSignIn: async () => {
      const password = await passwords.makeFirst(firstUser)
      return password === undefined ? undefined : { user: firstUser, password }
    },
    drain: () => subscriptions.close(),
    close: async () => {
      for (const close of undo.reverse()) await close()
    },
  }
}

/** The settings that must be known before the tools are; a site with faults is told by reading it whole. */
async function earlySettings(site: string): Promise<Snapshot['settings']> {
  return readSettings(await readSite(site), [], [])
}

interface KeyRecord extends Stored {
  readonly secret: string
}

async function signingKeyOf(store: Store): Promise<string> {
  const keys = store.collection<KeyRecord>({ name: 'mcp.key' })
  // Of several daemons that start together, one makes it.
  return await store.transaction(async (tx) => {
    const known = await tx.in(keys).get('signing')
    return (known ?? (await tx.in(keys).insert({ id: 'signing', secret: randomSecret('') }))).secret
  })
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
