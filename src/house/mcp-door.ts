import type { Principal } from '../core/principal.ts'
import { randomSecret } from '#leaf/secrets.ts'
import { version } from '../core/version.ts'
import { Pages } from '../mcp/lists.ts'
import { KeptStreams } from '../mcp/kept-streams.ts'
import { LogLevels, RunningCalls } from '../mcp/running.ts'
import { Subscriptions } from '../mcp/subscriptions.ts'
import { SuspendedCalls } from '../mcp/suspended-calls.ts'
import { Tasks } from '../mcp/tasks.ts'
import { pages } from '../pages/pages.ts'
import type { Store, Stored } from '#state/store.ts'
import type { Foundation, Undo } from './foundation.ts'
import type { House } from './house.ts'
import type { Snapshot } from './snapshot.ts'

/** The state that MCP keeps of its clients while they are here. */
export type McpDoor = Awaited<ReturnType<typeof openMcp>>

/** Opens MCP's door; a change of the site ends what it no longer allows. */
export async function openMcp(
  { clock, store, audit, log }: Foundation,
  { site, refreshed, onChange }: House,
  publicUrl: () => string,
  undo: Undo,
) {
  const snapshot = (principal: Principal): ReturnType<Snapshot['for']> => site.current().for(principal)
  const subscriptions = new Subscriptions({ clock, snapshot, refreshed })
  const running = new RunningCalls(store, audit)
  onChange(() => {
    subscriptions.changed()
    running.endWhere((principal) => refreshed(principal) === undefined)
  })
  const pageOf = (id: string): string => `${publicUrl()}${pages.approvals.path}/${id}`
  const tasks = new Tasks({ store, clock, running })
  undo.push(() => tasks.close())
  const signingKey = await signingKeyOf(store)
  return {
    /** Returns the snapshot that one request works with. */
    snapshot,
    subscriptions,
    suspended: new SuspendedCalls({ store, clock, audit, pageOf }),
    tasks,
    /** The MCP calls that are running. */
    running,
    /** The streams of calls that can be resumed. */
    kept: new KeptStreams({ store, clock, log }),
    /** The key that signs what MCP clients carry for us; it survives restarts. */
    signingKey,
    listPages: new Pages(signingKey, version),
    logLevels: new LogLevels(),
    version,
  }
}

interface KeyRecord extends Stored {
  readonly secret: string
}

async function signingKeyOf(store: Store): Promise<string> {
  const keys = store.collection<KeyRecord>({ name: 'mcp.key' })
  // When several daemons start together, one of them makes it.
  return await store.transaction(async (tx) => {
    const known = await tx.in(keys).get('signing')
    return (known ?? (await tx.in(keys).insert({ id: 'signing', secret: randomSecret('') }))).secret
  })
}
