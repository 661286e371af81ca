/**
 * What differs between the MCP protocol revisions, in one table (design decision D9). The endpoint
 * resolves the revision of a request once; everything else reads a field of its row and never
 * compares dates.
 */
import type { Content } from '../tools/tool.ts'
import { errorCodes } from './json-rpc.ts'

/** One dated protocol version. */
export interface Revision {
  readonly name: string
  /** Every request carries its version and capabilities in `_meta`; there is no handshake. */
  readonly modern: boolean
  /** The content blocks that its clients know; others are degraded to text or a plain resource. */
  readonly content: ReadonlySet<Content['type']>
  /** Tools carry `annotations`; the capability `completions` is declared. */
  readonly annotations: boolean
  /** Definitions carry `title`, `outputSchema` and `_meta`, results `structuredContent`. */
  readonly titles: boolean
  /** Servers and tools have pictures. */
  readonly icons: boolean
  /** Wrong tool arguments are a tool result that the model can read, not a protocol error. */
  readonly argumentFaultsAreResults: boolean
  /** A person can be asked through a form, or sent to a page. */
  readonly elicitation: 'none' | 'form' | 'form and url'
  readonly resourceNotFound: number
  /** Specification §7.1: permission denied for a tool, tool disabled, and similar. */
  readonly applicationError: number
  /** Results carry `resultType`, `_meta` with serverInfo, and caching hints; answered questions come in a new request. */
  readonly envelope: boolean
  /** A closed connection cancels the request. */
  readonly disconnectCancels: boolean
  /** HTTP status of a JSON-RPC error code. */
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
  disconnectCancels: false,
  // Clients of these revisions lose code and message of any answer that is not 200.
  status: (code: number) => (code === errorCodes.parse ? 400 : 200),
} as const

const table: readonly Revision[] = [
  { ...legacy, name: '2024-11-05' },
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
/** The revisions that describe themselves in every request. */
export const modernRevisions = table.filter((revision) => revision.modern)

/** Specification §9.1: what `initialize` answers to a version that it does not know, and what discovery names. */
export const preferred = byName.get('2025-06-18')!
/** What a legacy request speaks that does not say so (MCP 2025-06-18, transports). */
export const assumed = byName.get('2025-03-26')!

/** A legacy revision by its name. */
export function legacyRevision(name: string): Revision | undefined {
  const revision = byName.get(name)
  return revision?.modern ? undefined : revision
}

/** A modern revision by its name. */
export function modernRevision(name: string): Revision | undefined {
  const revision = byName.get(name)
  return revision?.modern ? revision : undefined
}

/** Whether a header value claims a revision from 2026-07-28 on, known or not. */
export function claimsModern(header: string | undefined): boolean {
  return header !== undefined && header >= modernRevisions[0]!.name && /^\d{4}-\d{2}-\d{2}/.test(header)
}
