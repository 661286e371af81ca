/** Opens the streams of GET, where the site allows them: for changes of lists, and to go on with one that broke. */
import type { Exchange } from '#front/exchange.ts'
import { eventOf } from '#audit/audit.ts'
import type { Principal } from '../../core/principal.ts'
import type { McpDeps } from '../call.ts'
import type { Channel } from './channel.ts'
import { transportError } from '../json-rpc.ts'
import type { KeptStreams } from './kept-streams.ts'
import { legacyRevision } from '../revisions.ts'
import type { Subscriptions } from './subscriptions.ts'

interface StreamDeps extends Pick<McpDeps, 'snapshot' | 'audit' | 'log'> {
  readonly subscriptions: Subscriptions
  readonly kept: KeptStreams
}

/** Opens a stream for GET; refuses every other method but POST. */
export async function openStream(
  { method, req }: Exchange,
  principal: Principal,
  channel: Channel,
  { snapshot, audit, log, subscriptions, kept }: StreamDeps,
): Promise<void> {
  const { legacy_streams: streams } = snapshot(principal).settings.mcp
  if (method !== 'GET' || !streams || !channel.open) {
    channel.header('Allow', streams ? 'GET, POST, OPTIONS' : 'POST, OPTIONS')
    throw transportError(405, `method ${method} is not allowed here; use POST`)
  }
  if (!subscriptions.hasRoom(principal)) throw transportError(429, 'too many open streams for this user')
  const revision = legacyRevision(String(req.headers['mcp-protocol-version'] ?? ''))
  const last = String(req.headers['last-event-id'] ?? '')
  if (last === '' || subscriptions.isOfLists(last)) {
    channel.begin()
    return subscriptions.openLegacy(principal, channel, { last, primes: revision?.primes === true })
  }
  const isKept = await kept.resume(principal, last, channel)
  // What the stream shows was told when its call was.
  const told = eventOf(principal, { type: 'stream.resume', status: isKept ? 'ok' : 'denied' })
  void audit
    .record(told)
    .catch((fault: unknown) => log.error('it was not told who resumed a stream', { fault }))
  if (!isKept) throw transportError(400, 'Last-Event-ID names no stream that is still kept for this client')
  subscriptions.openResumed(principal, channel)
}
