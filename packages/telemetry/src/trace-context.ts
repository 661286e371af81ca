/** W3C Trace Context: ties the work done here to the work that asked for it. */

/** A place in a trace: the trace, the span that is the parent of what follows, and whether it is recorded. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string
  readonly sampled: boolean
  /** Data that tracing systems on the way added; passed on unchanged. */
  readonly state?: string
}

/** The greatest length of `tracestate` that is passed on (W3C Trace Context §3.3.1.5). */
const maxState = 512

/** Reads `traceparent` and `tracestate` from headers or MCP's `_meta`; an invalid one counts as absent (§3.2, §4.3). */
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

/** Returns the `traceparent` that tells another service its place in the trace. */
export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

/** The attributes of a span: few, short, and never a question or an answer. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** A piece of work in a trace; it must be ended. */
export interface Span {
  readonly context: TraceContext
  set(attributes: SpanAttributes): void
  /** Ends the span; `fault` names the kind of failure, such as `timeout` or a status code. */
  end(fault?: string): void
}

/** Starts spans. There is no tracer while the site does not ask for traces, and then traces cost nothing. */
export interface Tracer {
  start(
    name: string,
    options: {
      /** `server`: the work was asked for from outside. */
      readonly kind: 'server' | 'internal'
      readonly parent?: TraceContext | undefined
      /** Another trace that this work also belongs to. */
      readonly link?: TraceContext | undefined
      readonly attributes: SpanAttributes
    },
  ): Span
}
