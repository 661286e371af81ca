import type { Audit } from '../audit/audit.ts'
import { actorOf, type AuditStatus } from '../audit/event.ts'
import type { Clock } from '../core/clock.ts'
import { AppError, messageOf, peerMessageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import { redact } from '../core/redact.ts'
import { type Check, compileSchema, problemsText } from '../core/schema.ts'
import { sha256 } from '../core/secrets.ts'
import type { Settings } from '../core/settings.ts'
import type { Tracer } from '../core/trace-context.ts'
import type { Documents } from '../documents/documents.ts'
import type { Calls } from './calls.ts'
import type { CallConnection, Catalogue, OfferedTool, ToolAnnotations, ToolOutcome } from './catalogue.ts'
import { offerOf } from './offer.ts'
import { failure, outcomeOf } from './output.ts'
import { settingOf, type ToolSetting, type ToolSettings } from './read-tools.ts'
import { AnswerPending, type Tool, type ToolCategory, type ToolContext } from './tool.ts'

/** What a catalogue is made of: the tools, what the site says about them, and what they work with. */
export interface CatalogueParts {
  readonly tools: readonly Tool[]
  readonly settings: ToolSettings
  readonly limits: Settings['tools']
  readonly documents: Documents
  readonly library: { for(principal: Principal): ToolContext['library'] }
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  readonly calls: Calls
  readonly tracing?: Tracer | undefined
  /** The principal as it is by now; undefined once it may not use the service. */
  readonly current?: (principal: Principal) => Principal | undefined
}

/** A tool with all that is computed once. */
interface Entry {
  readonly offered: OfferedTool
  readonly check: Check
  readonly setting: ToolSetting | undefined
  readonly definition: string
}

interface Offering {
  readonly tools: readonly OfferedTool[]
  readonly digest: string
}

/** Bounds what is remembered per set of roles. */
const mostOfferings = 1000

/** The catalogue of one snapshot. Throws when a tool's schema is wrong or two tools share a name. */
export function createCatalogue(parts: CatalogueParts): Catalogue {
  const entries = new Map<string, Entry>()
  for (const tool of [...parts.tools].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entries.has(tool.name)) throw new AppError('conflict', `two tools are called "${tool.name}"`)
    entries.set(tool.name, entryOf(tool, settingOf(parts.settings, tool.name)))
  }
  const offerings = new Map<string, Offering>()

  function offeringOf(principal: Principal): Offering {
    // Whatever decides an offer but the settings, which are those of the snapshot.
    const key = `${principal.roleKey}\0${principal.toolLimit?.join('\n') ?? '*'}`
    const known = offerings.get(key)
    if (known) return known
    const mine = [...entries.values()].filter(
      ({ offered }) => offerOf(principal, offered.tool, parts.settings).refusal === undefined,
    )
    const offering = {
      tools: mine.map(({ offered }) => offered),
      digest: sha256(mine.map(({ definition }) => definition).join('\n')),
    }
    // Roles and limits come from the site, so there are few; a site with many must not fill the memory.
    if (offerings.size >= mostOfferings) offerings.clear()
    offerings.set(key, offering)
    return offering
  }

  const currentOf = (principal: Principal): Principal | undefined =>
    parts.current ? parts.current(principal) : principal

  /** A call that did not come to its tool is told like one that did. */
  function refused(principal: Principal, name: string, status: AuditStatus, error: string): ToolOutcome {
    const target = name.slice(0, 128)
    parts.audit
      .record({ ...actorOf(principal), type: 'tool.call', status, target, error: error.slice(0, 500) })
      .catch((fault: unknown) => parts.log.error('a tool call could not be audited', { tool: target, fault }))
    return failure(error)
  }

  /** A call that a running tool makes: only of tools that read and need nobody's consent, and those make none. */
  async function callFrom(
    caller: Principal,
    connection: CallConnection,
    name: string,
    args: unknown,
  ): Promise<ToolOutcome> {
    // A program runs for minutes: what its user lost meanwhile, it has lost too.
    const principal = currentOf(caller)
    if (!principal) return refused(caller, name, 'denied', 'you may not use this service any more')
    const entry = entries.get(name)
    const offered = entry && offerOf(principal, entry.offered.tool, parts.settings).refusal === undefined
    if (!offered) return refused(principal, name, 'denied', `there is no tool "${name}" that you may call`)
    if (!entry.offered.annotations.readOnlyHint || entry.offered.confirm !== 'never')
      return refused(principal, name, 'denied', `${name} does more than read; it must be called by itself`)
    const problems = entry.check(args ?? {})
    if (problems.length > 0) return refused(principal, name, 'error', problemsText(problems))
    // One level only: each call has limits and an audit event, but a chain of them could go on for ever.
    return callTool(parts, entry, principal, args ?? {}, connection, () =>
      Promise.resolve(failure('a tool that was called by a tool cannot call further ones')),
    )
  }

  return {
    offered: (principal) => offeringOf(principal).tools,
    digest: (principal) => offeringOf(principal).digest,
    find: (principal, name) => {
      const entry = entries.get(name)
      if (!entry) return 'unknown'
      return offerOf(principal, entry.offered.tool, parts.settings).refusal ?? entry.offered
    },
    problems: ({ tool }, args) => {
      const problems = entries.get(tool.name)!.check(args ?? {})
      return problems.length === 0 ? undefined : problemsText(problems)
    },
    call: (principal, { tool }, args, connection) =>
      callTool(
        parts,
        entries.get(tool.name)!,
        principal,
        args ?? {},
        connection,
        (by, name, nested, signal) =>
          callFrom(by, { ...connection, signal, progress: () => undefined }, name, nested),
      ),
  }
}

/** What clients decide by whether to ask their user. */
export function annotationsOf(tool: Tool, category: ToolCategory): ToolAnnotations {
  return {
    title: tool.title,
    readOnlyHint: category === 'read_only',
    destructiveHint: category === 'privileged',
    idempotentHint: category === 'read_only' || (tool.idempotent ?? false),
    openWorldHint: tool.openWorld ?? false,
  }
}

function entryOf(tool: Tool, setting: ToolSetting | undefined): Entry {
  const annotations = annotationsOf(tool, setting?.category ?? tool.category)
  const { name, title, description, input, output } = tool
  const confirm = setting?.confirm ?? 'never'
  return {
    offered: { tool, annotations, confirm },
    check: compileSchema(input),
    setting,
    definition: JSON.stringify([name, title, description, input, output, annotations, confirm]),
  }
}

/** How a call ended, for its answer and for the audit log. */
interface Ending {
  readonly outcome: ToolOutcome
  readonly status: AuditStatus
  readonly error?: string
}

type NestedCall = (by: Principal, name: string, args: unknown, signal: AbortSignal) => Promise<ToolOutcome>

async function callTool(
  parts: CatalogueParts,
  entry: Entry,
  principal: Principal,
  args: unknown,
  connection: CallConnection,
  nested: NestedCall,
): Promise<ToolOutcome> {
  const { audit, clock, log, tracing } = parts
  const { tool } = entry.offered
  const start = clock.now()
  const span = tracing?.start(`execute_tool ${tool.name}`, {
    kind: 'internal',
    parent: principal.trace,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool.name },
  })
  // What the tool asks of others belongs under its own span.
  const traced = span ? { ...principal, trace: span.context } : principal
  const ending = await run(parts, entry, traced, args, connection, nested)
  const { outcome, status, error } = ending
  span?.end(status === 'ok' ? undefined : status)
  audit
    .record({
      ...actorOf(principal),
      type: 'tool.call',
      status,
      target: tool.name,
      execution_time: (clock.now() - start) / 1000,
      ...(error !== undefined && { error }),
      data: {
        arguments: redact(args, entry.setting?.redact),
        result_bytes: Buffer.byteLength(outcome.text),
        is_error: outcome.isError,
      },
    })
    .catch((fault: unknown) => log.error('a tool call could not be audited', { tool: tool.name, fault }))
  return outcome
}

async function run(
  parts: CatalogueParts,
  entry: Entry,
  principal: Principal,
  args: unknown,
  connection: CallConnection,
  nested: NestedCall,
): Promise<Ending> {
  const { limits, documents, library, audit, calls } = parts
  const { tool } = entry.offered
  const milliseconds =
    entry.setting?.timeoutSeconds !== undefined
      ? entry.setting.timeoutSeconds * 1000
      : (tool.timeout ?? limits.timeout_seconds * 1000)
  const budget = entry.setting?.maxResultBytes ?? limits.max_result_bytes
  const timer = new AbortController()
  const signal = AbortSignal.any([connection.signal, timer.signal])
  try {
    // What cannot be audited must not be done.
    audit.requireWritable()
    const leave = calls.enter(
      principal.user,
      tool.name,
      limits.max_concurrent_per_user,
      entry.setting?.maxConcurrent,
    )
    const clockwork = setTimeout(() => timer.abort(), milliseconds)
    // A tool that does not stop when it is told to keeps its place until it does.
    const running = Promise.resolve()
      .then(() =>
        tool.run(args, {
          ...connection,
          principal,
          documents,
          library: library.for(principal),
          budget,
          signal,
          callTool: (name, inner) => nested(principal, name, inner, signal),
        }),
      )
      .finally(() => {
        clearTimeout(clockwork)
        leave()
      })
    const output = await orAborted(running, signal)
    return fit(tool, outcomeOf(tool, output), budget)
  } catch (error) {
    // First the signals, since a tool that is stopped may throw anything.
    if (timer.signal.aborted) {
      const text = `${tool.name} was stopped after ${milliseconds / 1000} seconds; ask for less, or for a part at a time`
      return { outcome: failure(text), status: 'timeout', error: text }
    }
    if (connection.signal.aborted)
      return { outcome: failure('cancelled'), status: 'error', error: 'cancelled' }
    return failed(parts, tool, principal, error)
  }
}

function fit(tool: Tool, outcome: ToolOutcome, budget: number): Ending {
  const bytes = Buffer.byteLength(outcome.text)
  if (bytes > budget) {
    const text = `the answer of ${tool.name} has ${bytes} bytes, more than the ${budget} allowed; ask for fewer fields or fewer rows`
    return { outcome: failure(text), status: 'error', error: text }
  }
  if (!outcome.isError) return { outcome, status: 'ok' }
  return { outcome, status: 'error', error: outcome.text.slice(0, 500) }
}

function failed({ log }: CatalogueParts, tool: Tool, principal: Principal, error: unknown): Ending {
  // Not a fault: the call comes again with the answers.
  if (error instanceof AnswerPending) return { outcome: failure(error.message), status: 'ok' }
  if (error instanceof AppError) {
    const said = peerMessageOf(error)
    const text = error.code === 'unavailable' ? `${said} (try again later)` : said
    return { outcome: failure(text), status: error.code === 'forbidden' ? 'denied' : 'error', error: text }
  }
  log.error('a tool failed', {
    tool: tool.name,
    request_id: principal.requestId,
    user: principal.user,
    error,
  })
  const text = `internal error in ${tool.name}; it was logged as request ${principal.requestId}`
  return { outcome: failure(text), status: 'error', error: `internal error: ${messageOf(error)}` }
}

/** What was promised, unless the signal is first. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  let abort: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort!)
    // Whatever the tool still throws after it was given up is nobody's business.
    promise.catch(() => undefined)
  }
}
