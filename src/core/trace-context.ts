/** W3C Trace Context: what ties the work done here to the work that asked for it. */

/** One place in a trace: its trace, the span that is the parent of what follows, and whether it is recorded. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string
  readonly sampled: boolean
  /** What tracing systems on the way added; handed on as it came. */
  readonly state?: string
}

/** The most of `tracestate` that is handed on (W3C Trace Context §3.3.1.5). */
const maxState = 512

/** Reads `traceparent` and `tracestate`, from headers or from MCP's `_meta`; what is not one counts as absent (§3.2, §4.3). */
export function readTraceContext(parent: unknown, state?: unknown): TraceContext | undefined {
  if (typeof parent !== 'string') return undefined
  const match = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/.exec(parent)
  const [, version, traceId, spanId, flags, rest] = match ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  if (version === '00' && rest !== undefined) return undefined
  const sampled = (Number.parseInt(flags, 16) & 1) === 1
  const kept = typeof state === 'string' && state.length <= maxState && /^[\x20-\x7e]+$/.test(state)
  return { traceId, spanId, sampled, ...(kept && { state }) }
}

/** The `traceparent` that tells another service where it stands. */
export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

/** What a span says about its work: few, short, and never what was asked or answered. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A piece of work that a trace shows; it must be ended. */
export interface Span {
  readonly context: TraceContext
  set(attributes: SpanAttributes): void
  /** Ends the span; `fault` names the kind of what went wrong, such as `timeout` or a status code. */
  end(fault?: string): void
}

/** Starts spans. There is none while the site does not ask for traces, and then nothing is spent on them. */
export interface Tracer {
  start(
    name: string,
    options: {
      /** `server`: the work was asked for from outside. */
      readonly kind: 'server' | 'internal'
      readonly parent?: TraceContext | undefined
      /** Another trace that this work belongs to as well. */
      readonly link?: TraceContext | undefined
      readonly attributes: SpanAttributes
    },
  ): Span
}
