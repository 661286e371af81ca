import type { Principal } from '../core/principal.ts'
import { randomSecret } from '../core/secrets.ts'
import { clientLimitOf } from '../documents/client-limits.ts'
import { RunningCalls } from '../mcp/running.ts'
import { Subscriptions } from '../mcp/subscriptions.ts'
import { SuspendedCalls } from '../mcp/suspended-calls.ts'
import { Tasks } from '../mcp/tasks.ts'
import { Assertions } from '../oauth/assertions.ts'
import { ClientDocuments } from '../oauth/client-documents.ts'
import { Clients } from '../oauth/clients.ts'
import { Codes } from '../oauth/codes.ts'
import { Grants } from '../oauth/grants.ts'
import { guardedFetch } from '../oauth/guarded-fetch.ts'
import { IdentityProviders } from '../oauth/identity-assertions.ts'
import { Keys } from '../oauth/keys.ts'
import { RateLimits } from '../oauth/rate-limits.ts'
import { Tokens } from '../oauth/tokens.ts'
import { Trace } from '../oauth/trace.ts'
import { OpenIdProvider } from '../oauth/upstream.ts'
import { resourceOf } from '../oauth/urls.ts'
import { TokenUsage } from '../oauth/usage.ts'
import type { Store, Stored } from '../store/store.ts'
import { Accounts } from '../users/accounts.ts'
import { ApiKeys } from '../users/api-keys.ts'
import { OneTimeLinks } from '../users/one-time-links.ts'
import { Passkeys } from '../users/passkeys.ts'
import { Passwords } from '../users/passwords.ts'
import { SecondFactors } from '../users/second-factors.ts'
import { Sessions } from '../users/sessions.ts'
import { SignIn } from '../users/sign-in.ts'
import type { Foundation, ServicesOptions, Undo } from './foundation.ts'
import type { House } from './house.ts'
import type { Snapshot } from './snapshot.ts'

/** Where people and clients come in: who they are, and what MCP keeps of them while they are here. */
export type Doors = Awaited<ReturnType<typeof openDoors>>

type Address = ReturnType<typeof addressOf>
type McpDoor = Awaited<ReturnType<typeof openMcp>>

/** Opens the doors of a house; a daemon's metrics hear of them. */
export async function openDoors(foundation: Foundation, house: House, options: ServicesOptions, undo: Undo) {
  const { clock, store, audit, metrics, analysis } = foundation
  const { site, settings, people } = house
  const address = addressOf(options, house)
  const accounts = new Accounts({ store })
  const passwords = new Passwords({ store, clock, people })
  const signIn = {
    accounts,
    links: new OneTimeLinks({ store, clock, people }),
    passkeys: new Passkeys({ store, clock, accounts, publicUrl: address.publicUrl }),
    passwords,
    secondFactors: new SecondFactors({ clock, accounts }),
    sessions: new Sessions({ store, clock, settings, people, accounts }),
    signIn: new SignIn({ store, clock, people, passwords, audit }),
    apiKeys: new ApiKeys({ store, clock, people }),
  }
  const mcp = await openMcp(foundation, house, address, undo)
  const oauth = openOAuth(foundation, house, address, mcp, undo)
  if (options.daemon) {
    await oauth.clients.countPlaces()
    hourly(foundation, 'pruning clients', () => oauth.clients.prune(), undo)
    probeDocuments(foundation, house, oauth.clientDocuments, undo)
    metrics.observe({
      site: () => site.state(),
      store: () => store.stats(),
      audit,
      streams: () => mcp.subscriptions.size,
      limits: () => oauth.limits.counts(),
      analysis,
      isTool: (name) => site.current().tools.some((tool) => tool.name === name),
    })
  }
  return { ...address, ...signIn, ...mcp, ...oauth }
}

function addressOf(options: ServicesOptions, { settings }: House) {
  let { port } = settings().server
  let known: { readonly of: string; readonly url: string } | undefined
  /** The origin that every published URL begins with, without a trailing slash (D1). */
  const publicUrl = (): string => {
    const of = options.publicUrl ?? settings().public_url ?? `http://localhost:${port}`
    if (known?.of !== of) known = { of, url: of.replace(/\/+$/, '') }
    return known.url
  }
  return {
    publicUrl,
    mcpUrl: (): string => resourceOf(publicUrl()),
    /** The daemon listens on this port: part of the public URL when none is set. */
    listening: (bound: number): void => {
      port = bound
    },
  }
}

async function openMcp(
  { clock, store, audit }: Foundation,
  { site, refreshed, onChange }: House,
  { publicUrl }: Address,
  undo: Undo,
) {
  const snapshot = (principal: Principal): ReturnType<Snapshot['for']> => site.current().for(principal)
  const subscriptions = new Subscriptions({ clock, snapshot, refreshed })
  onChange(() => subscriptions.changed())
  const running = new RunningCalls(store)
  const tasks = new Tasks({ store, clock, running })
  undo.push(() => tasks.close())
  return {
    subscriptions,
    suspended: new SuspendedCalls({ store, clock, audit, publicUrl }),
    tasks,
    /** The MCP calls that run now. */
    running,
    /** Signs what MCP clients carry for us; survives restarts. */
    signingKey: await signingKeyOf(store),
  }
}

function openOAuth(
  { clock, log, store, folders }: Foundation,
  { site, settings }: House,
  { publicUrl }: Address,
  { subscriptions, running }: McpDoor,
  undo: Undo,
) {
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
  const proxy = (): string | null => settings().oauth.egress_proxy
  const fetch = guardedFetch({ proxy })
  const assertions = new Assertions({ store, clock, publicUrl, fetch })
  const clientDocuments = new ClientDocuments({ store, clock, settings, fetch, log })
  const usage = new TokenUsage({ store, clock, log })
  undo.push(() => usage.close())
  return {
    tokens,
    clients: new Clients({ store, clock, settings, tokens, documents: clientDocuments }),
    clientDocuments,
    codes: new Codes({ store, clock, settings }),
    grants: new Grants({ store, clock }),
    keys: new Keys({ store, clock }),
    assertions,
    identityProviders: new IdentityProviders({
      clock,
      settings,
      publicUrl,
      assertions,
      // The operator named them: they may be in the company's own network.
      fetch: guardedFetch({ proxy, isAllowed: () => true, maxBytes: 262_144 }),
    }),
    usage,
    limits: new RateLimits({ settings, store }),
    trace: new Trace({ clock, store }),
    upstream: new OpenIdProvider({ store, clock, settings, publicUrl, log, folder: folders.site }),
    /** What a client may at most use, whoever it acts for. */
    clientLimits: (id: string) => clientLimitOf(site.current().platform, id),
  }
}

/** Whether client documents can be fetched: tried now, hourly, and when the settings that it depends on change. */
function probeDocuments(
  foundation: Foundation,
  { settings, onChange }: House,
  documents: ClientDocuments,
  undo: Undo,
): void {
  let tried = ''
  const known = (): string => {
    const { client_id_metadata_documents: mode, egress_proxy: proxy } = settings().oauth
    return JSON.stringify([mode, proxy])
  }
  const probe = (): Promise<void> => {
    tried = known()
    return documents.probe()
  }
  hourly(foundation, 'probing client documents', probe, undo)
  onChange(() => {
    if (known() !== tried) void probe()
  })
  void probe()
}

/** Registrations prune as well; this is for a server at which nobody registers any more. */
function hourly({ log }: Foundation, what: string, work: () => Promise<unknown>, undo: Undo): void {
  const timer = setInterval(
    () => void work().catch((error: unknown) => log.error(`${what} failed`, { error })),
    3_600_000,
  ).unref()
  undo.push(() => clearInterval(timer))
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
