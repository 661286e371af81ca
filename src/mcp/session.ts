/**
 * Session ids without stored sessions (specification §2.10): a client's own value is carried along, and one of ours,
 * made at `initialize`, holds the result of the handshake, signed for its peer. Nothing is stored.
 */
import { createHmac } from 'node:crypto'
import type { Principal } from '../core/principal.ts'
import { randomId, sameText } from '#leaf/secrets.ts'
import { legacyRevisions, type Revision } from './revisions.ts'
import { type ClientCapabilities, peerOf } from './call.ts'
import { declaresViews, viewsCapability, viewsExtension } from './host-views.ts'
import { isObject } from '#leaf/as-json.ts'

/** The contents of a session id of ours. */
export interface Handshake {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
}

// One letter for each capability that the server ever relies on.
const flags = [
  ['e', 'elicitation', 'form'],
  ['u', 'elicitation', 'url'],
  ['s', 'sampling', undefined],
  ['r', 'roots', undefined],
] as const

/** Makes a session id that holds the result of `initialize` with this peer. */
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

/** Reads a session id; undefined unless it is one of ours and was made for this peer. */
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

/** True when the client can be asked this way; a bare `elicitation: {}` means forms. */
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

/** Returns the capabilities that the letters of a session id stand for. */
function capabilitiesOf(letters: string): ClientCapabilities {
  const capabilities: Record<string, Record<string, unknown>> = {}
  for (const [letter, name, mode] of flags) {
    if (letters.includes(letter)) capabilities[name] = { ...capabilities[name], ...(mode && { [mode]: {} }) }
  }
  if (letters.includes('v')) capabilities['extensions'] = { [viewsExtension]: viewsCapability }
  return capabilities
}

/** Signs a session id for its user and client: another's id is only a name. The MAC has 128 bits, to keep the id short. */
function sign(key: string | Uint8Array, principal: Principal, body: string): string {
  const mac = createHmac('sha256', key)
    .update(`session\n${peerOf(principal)}\n${body}`)
    .digest()
  return mac.subarray(0, 16).toString('base64url')
}
