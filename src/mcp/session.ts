/**
 * Session ids without sessions (specification §2.10): a client's own value is carried along, and one of ours,
 * made at `initialize`, says what the handshake settled, signed for the peer it was made for. Nothing is kept.
 */
import { createHmac } from 'node:crypto'
import type { Principal } from '../core/principal.ts'
import { randomId, sameText } from '../core/secrets.ts'
import { legacyRevisions, type Revision } from './revisions.ts'
import { type ClientCapabilities, peerOf } from './call.ts'
import { declaresViews, viewsCapability, viewsExtension } from './host-views.ts'
import { isObject } from './json-rpc.ts'

/** What a session id of ours says. */
export interface Handshake {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
}

// One letter a capability that the server ever relies on.
const flags = [
  ['e', 'elicitation', 'form'],
  ['u', 'elicitation', 'url'],
  ['s', 'sampling', undefined],
  ['r', 'roots', undefined],
] as const

/** A new session id that says what `initialize` settled with this peer. */
export function mintSession(
  key: string | Uint8Array,
  principal: Principal,
  revision: Revision,
  capabilities: ClientCapabilities,
): string {
  const letters: string[] = flags
    .filter(([, name, mode]) => declares(capabilities, name, mode))
    .map(([letter]) => letter)
  if (declaresViews(capabilities)) letters.push('v')
  const body = `${legacyRevisions.indexOf(revision)}${letters.join('')}.${randomId()}`
  return `${body}.${sign(key, principal, body)}`
}

/** What a session id says, if it is one of ours and was made for this peer. */
export function readSession(
  key: string | Uint8Array,
  principal: Principal,
  sessionId: string,
): Handshake | undefined {
  const match = /^((\d)([a-z]*)\.[\w-]{22})\.([\w-]{22})$/.exec(sessionId)
  if (!match) return undefined
  const [, body, index, letters, mac] = match as unknown as [string, string, string, string, string]
  const revision = legacyRevisions[Number(index)]
  if (!revision || !sameText(mac, sign(key, principal, body))) return undefined
  return { revision, capabilities: capabilitiesOf(letters) }
}

/** Whether the client can be asked this way; a bare `elicitation: {}` means forms. */
export function declares(
  capabilities: ClientCapabilities,
  name: 'elicitation' | 'sampling' | 'roots',
  mode?: 'form' | 'url',
): boolean {
  const declared = capabilities[name]
  if (!isObject(declared)) return false
  if (mode === undefined) return true
  return mode in declared || (mode === 'form' && !('url' in declared))
}

/** The capabilities that the letters of a session id stand for. */
function capabilitiesOf(letters: string): ClientCapabilities {
  const capabilities: Record<string, Record<string, unknown>> = {}
  for (const [letter, name, mode] of flags) {
    if (letters.includes(letter)) capabilities[name] = { ...capabilities[name], ...(mode && { [mode]: {} }) }
  }
  if (letters.includes('v')) capabilities['extensions'] = { [viewsExtension]: viewsCapability }
  return capabilities
}

/** Bound to the user and the client: somebody else's session id is only a name. 128 bits, so that the id stays short. */
function sign(key: string | Uint8Array, principal: Principal, body: string): string {
  const mac = createHmac('sha256', key)
    .update(`session\n${peerOf(principal)}\n${body}`)
    .digest()
  return mac.subarray(0, 16).toString('base64url')
}
