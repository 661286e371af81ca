/**
 * Traces for OpenTelemetry: spans of requests, MCP messages and tool calls, sent by OTLP over HTTP. The packages are
 * optional, and are loaded only when the setting `tracing.otlp` asks for them.
 */
import type { DiagLogger, SpanContext } from '@opentelemetry/api'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { readSecretFile, type SecretPath } from '#leaf/secret-files.ts'
import type { Span, TraceContext, Tracer } from './trace-context.ts'

/** A tracer that can send what it still holds. */
export interface Tracing extends Tracer {
  close(): Promise<void>
}

/** Where traces are sent, as what, and how many of them. */
export interface TracingSettings {
  /** The address of the collector; null for none. */
  readonly otlp: string | null
  readonly headers_file: string | null
  readonly sample_ratio: number
  readonly service: { readonly name: string; readonly version: string }
}

/** Opens the tracer that the settings ask for; undefined when they ask for none. AppError `unavailable` without the packages. */
export async function openTracing(
  { otlp: url, headers_file: file, sample_ratio, service: { name, version } }: TracingSettings,
  secretPath: SecretPath,
  log: Log,
): Promise<Tracing | undefined> {
  if (url === null) return undefined
  const headers = file === null ? {} : await readHeaders(secretPath(file))
  const { api, sdk, resources, otlp } = await load()
  const { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } = api
  const exporter = new otlp.OTLPTraceExporter({ url, headers, timeoutMillis: 5000 })
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': name, 'service.version': version }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(sample_ratio) }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  })
  api.diag.setLogger(diagnostics(log), api.DiagLogLevel.WARN)
  const tracer = provider.getTracer('assistant-core', version)
  const remote = ({ traceId, spanId, sampled, state }: TraceContext): SpanContext => ({
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(state !== undefined && { traceState: createTraceState(state) }),
  })
  return {
    start: (work, { kind, parent, link, attributes }): Span => {
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, remote(parent)) : ROOT_CONTEXT
      const span = tracer.startSpan(
        work,
        {
          kind: kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL,
          attributes,
          ...(link && { links: [{ context: remote(link) }] }),
        },
        context,
      )
      const { traceId, spanId, traceFlags, traceState } = span.spanContext()
      const state = traceState?.serialize()
      return {
        context: {
          traceId,
          spanId,
          sampled: (traceFlags & TraceFlags.SAMPLED) !== 0,
          ...(state !== undefined && { state }),
        },
        set: (more) => void span.setAttributes(more),
        end: (fault) => {
          if (fault !== undefined) {
            span.setAttribute('error.type', fault)
            span.setStatus({ code: SpanStatusCode.ERROR })
          }
          span.end()
        },
      }
    },
    // An unreachable collector must not delay the daemon's end.
    close: () => provider.shutdown().catch(() => undefined),
  }
}

/** Reads headers from a file, one `Name: value` a line. AppError `invalid` with the line that is none. */
async function readHeaders(path: string): Promise<Record<string, string>> {
  const lines = (await readSecretFile(path, 'tracing.headers_file')).split('\n').map((line) => line.trim())
  const headers: Record<string, string> = {}
  for (const [index, line] of lines.entries()) {
    if (line === '') continue
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*([\x20-\x7e]+)$/.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw new AppError('invalid', `tracing.headers_file: line ${index + 1} is not "Name: value"`)
    headers[name] = value
  }
  return headers
}

/** Logs the exporter's complaints, such as an unreachable collector. */
function diagnostics(log: Log): DiagLogger {
  const warn = (message: string): void => log.warn('traces cannot be sent', { reason: message.slice(0, 500) })
  const silent = (): void => undefined
  return { error: warn, warn, info: silent, debug: silent, verbose: silent }
}

async function load() {
  try {
    const [api, sdk, resources, otlp] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
    return { api, sdk, resources, otlp }
  } catch (cause) {
    const names = '@opentelemetry/{api,sdk-trace,resources,exporter-trace-otlp-http}'
    throw new AppError('unavailable', `the setting tracing.otlp needs the optional packages ${names}`, {
      cause,
    })
  }
}
