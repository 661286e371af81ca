import { randomSecret } from '#leaf/secrets.ts'
import { version } from '../core/version.ts'
import { Pages } from '../mcp/lists.ts'
import { KeptStreams } from '../mcp/streams/kept-streams.ts'
import { LogLevels } from '../mcp/running.ts'
import { SuspendedCalls } from '../mcp/waiting/suspended-calls.ts'
import { Tasks } from '../mcp/waiting/tasks.ts'
import { pages } from '../pages/pages.ts'
import type { Store, Stored } from '#state/store.ts'
import type { Foundation, Undo } from './foundation.ts'
import type { PublicAddress } from './public-address.ts'
import type { StreamDoor } from './stream-door.ts'

/** The state that MCP keeps of its clients while they are here. */
export type McpDoor = Awaited<ReturnType<typeof openMcp>>

type Taken = Foundation & Pick<PublicAddress, 'publicUrl'> & Pick<StreamDoor, 'running'>

/** Opens MCP's door. */
export async function openMcp({ clock, store, audit, log, publicUrl, running }: Taken, undo: Undo) {
  const pageOf = (id: string): string => `${publicUrl()}${pages.approvals.path}/${id}`
  const tasks = new Tasks({ store, clock, running })
  undo.push(() => tasks.close())
  const signingKey = await signingKeyOf(store)
  return {
    suspended: new SuspendedCalls({ store, clock, audit, pageOf }),
    tasks,
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
