/**
 * The differences between the MCP protocol revisions, in one table (design decision D9). The endpoint
 * resolves the revision of a request once; all other code reads a field of its row and never
 * compares dates.
 */
import type { Content } from '../tools/tool.ts'
import { errorCodes } from './json-rpc.ts'

/** One dated protocol version. */
export interface Revision {
  readonly name: string
  /** True when every request carries its version and capabilities in `_meta`; there is no handshake. */
  readonly modern: boolean
  /** The content blocks that its clients know; others become text or a plain resource. */
  readonly content: ReadonlySet<Content['type']>
  /** True when tools carry `annotations` and the capability `completions` is declared. */
  readonly annotations: boolean
  /** True when definitions carry `title`, `outputSchema` and `_meta`, and results `structuredContent`. */
  readonly titles: boolean
  /** True when servers and tools have icons. */
  readonly icons: boolean
  /** True when wrong tool arguments give a tool result that the model can read, not a protocol error. */
  readonly argumentFaultsAreResults: boolean
  /** The ways to ask a person: through a form, or by a page. */
  readonly elicitation: 'none' | 'form' | 'form and url'
  readonly resourceNotFound: number
  /** The error code for a permission denied for a tool, a disabled tool, and similar (specification §7.1). */
  readonly applicationError: number
  /** True when results carry `resultType`, `_meta` with serverInfo and caching hints, and answers come in a new request. */
  readonly envelope: boolean
  /** True when events of streams have ids, by which a broken stream is resumed. */
  readonly resumes: boolean
  /** True when a stream begins with an event that only has an id, so that it can be resumed before its first message. */
  readonly primes: boolean
  /** True when a closed connection cancels the request. */
  readonly disconnectCancels: boolean
  /** Returns the HTTP status of a JSON-RPC error code. */
  status(code: number): number
}

const oldContent = ['text', 'image', 'resource'] as const
const audioContent = [...oldContent, 'audio'] as const
const allContent = [...audioContent, 'resource_link'] as const

const legacy = {
  modern: false,
  content: new Set<Content['type']>(oldContent),
  annotations: false,
  titles: false,
  icons: false,
  argumentFaultsAreResults: false,
  elicitation: 'none',
  resourceNotFound: errorCodes.resourceNotFound,
  applicationError: errorCodes.application,
  envelope: false,
  resumes: true,
  primes: false,
  disconnectCancels: false,
  // Clients of these revisions lose code and message of any answer that is not 200.
  status: (code: number) => (code === errorCodes.parse ? 400 : 200),
} as const

const table: readonly Revision[] = [
  { ...legacy, name: '2024-11-05', resumes: false },
  { ...legacy, name: '2025-03-26', content: new Set(audioContent), annotations: true },
  {
    ...legacy,
    name: '2025-06-18',
    content: new Set(allContent),
    annotations: true,
    titles: true,
    elicitation: 'form',
  },
  {
    ...legacy,
    name: '2025-11-25',
    content: new Set(allContent),
    annotations: true,
    titles: true,
    icons: true,
    argumentFaultsAreResults: true,
    elicitation: 'form and url',
    primes: true,
  },
  {
    name: '2026-07-28',
    modern: true,
    content: new Set(allContent),
    annotations: true,
    titles: true,
    icons: true,
    argumentFaultsAreResults: true,
    elicitation: 'form and url',
    resourceNotFound: errorCodes.invalidParams,
    // -32000 to -32019 are closed to new implementations.
    applicationError: errorCodes.invalidParams,
    envelope: true,
    resumes: false,
    primes: false,
    disconnectCancels: true,
    status: modernStatus,
  },
]

function modernStatus(code: number): number {
  switch (code) {
    case errorCodes.methodNotFound:
      return 404
    case errorCodes.parse:
    case errorCodes.invalidRequest:
    case errorCodes.headerMismatch:
    case errorCodes.missingCapability:
    case errorCodes.unsupportedVersion:
      return 400
    default:
      return 200
  }
}

const byName = new Map(table.map((revision) => [revision.name, revision]))

/** The revisions that begin with `initialize`. */
export const legacyRevisions = table.filter((revision) => !revision.modern)
/** The revisions whose requests describe themselves. */
export const modernRevisions = table.filter((revision) => revision.modern)

/** The revision that `initialize` answers to an unknown version, and that discovery names (specification §9.1). */
export const preferred = byName.get('2025-06-18')!
/** The revision of a legacy request that does not name one (MCP 2025-06-18, transports). */
export const assumed = byName.get('2025-03-26')!

/** Returns a legacy revision by its name. */
export function legacyRevision(name: string): Revision | undefined {
  const revision = byName.get(name)
  return revision?.modern ? undefined : revision
}

/** Returns a modern revision by its name. */
export function modernRevision(name: string): Revision | undefined {
  const revision = byName.get(name)
  return revision?.modern ? revision : undefined
}

/** True when a header value claims a revision from 2026-07-28 on, known or not. */
export function claimsModern(header: string | undefined): boolean {
  return header !== undefined && header >= modernRevisions[0]!.name && /^\d{4}-\d{2}-\d{2}/.test(header)
}
