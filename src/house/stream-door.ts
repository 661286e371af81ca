import type { Principal } from '../core/principal.ts'
import { RunningCalls } from '../mcp/running.ts'
import { Subscriptions } from '../mcp/streams/subscriptions.ts'
import type { Foundation } from './foundation.ts'
import type { House } from './house.ts'
import type { Snapshot } from './snapshot.ts'

/** What is open to MCP clients now. */
export type StreamDoor = ReturnType<typeof openStreams>

/** Opens streams and calls to MCP clients; a change of the site ends what it no longer allows. */
export function openStreams({ clock, store, audit, site, refreshed, onChange }: Foundation & House) {
  const snapshot = (principal: Principal): ReturnType<Snapshot['for']> => site.current().for(principal)
  const subscriptions = new Subscriptions({ clock, snapshot, refreshed })
  const running = new RunningCalls(store, audit)
  onChange(() => {
    subscriptions.changed()
    running.endWhere((principal) => refreshed(principal) === undefined)
  })
  return {
    /** Returns the snapshot that one request works with. */
    snapshot,
    subscriptions,
    /** The MCP calls that are running. */
    running,
  }
}
