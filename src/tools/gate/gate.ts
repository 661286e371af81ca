/**
 * The one way to run a tool: it finds it, checks arguments, asks a person where the site says so, bounds it, and audits every ending.
 */
import { askedBy } from '../../documents/documents.ts'
import { AppError, messageOf, peerMessageOf } from '#leaf/errors.ts'
import { didYouMean } from '#leaf/names.ts'
import { noting, type Principal } from '../../core/principal.ts'
import { type Check, problemsText } from '#leaf/schema.ts'
import type { Settings } from '../../core/settings.ts'
import { Shown } from '../../core/shown.ts'
import type { Soon } from '#leaf/soon.ts'
import { late, Stop, unlessEnded } from '#leaf/stop.ts'
import { Once } from '../../documents/writing/once.ts'
import type { Tracer } from '#telemetry/trace-context.ts'
import type { Calls } from './calls.ts'
import type { Caller, Catalogue, OfferedTool, Refusal, ToolOutcome } from './catalogue.ts'
import { fitAnswer } from './fit-answer.ts'
import { offerOf } from './offer.ts'
import { failure, faultOf } from './output.ts'
import { type Denied, denied, outage, suchAs } from './refusals.ts'
import type { ToolSetting } from './read-tools.ts'
import { type Ending, tellCall, type Telling } from './telling.ts'
import { AnswerPending, ApprovalPending, type Tool, type ToolContext } from '../tool.ts'
import { typedArguments } from './typed-arguments.ts'

/** A tool with all that is computed once. */
export interface ToolEntry {
  readonly offered: OfferedTool
  readonly check: Check
  readonly setting: ToolSetting | undefined
}

/** The dependencies of the gate: the tools of one snapshot, and what they work with. */
export interface Gate extends Telling, Pick<Catalogue, 'lacks'> {
  readonly entries: ReadonlyMap<string, ToolEntry>
  readonly limits: Omit<Settings['tools'], 'module_memory_mb'>
  readonly calls: Calls
  readonly tracing?: Tracer | undefined
  /** Returns the principal as of now; undefined once it may no longer call the tool. */
  readonly present: (principal: Principal, name: string, person?: 'person') => Principal | undefined
}

/** A call that may run: the tool and its caller. */
interface Admitted {
  readonly entry: ToolEntry
  readonly principal: Principal
  readonly once?: Once | undefined
}

/** Returns the tool as the principal may call it, or the reason why not. */
export function findTool(
  { entries, settings, lacks }: Pick<Gate, 'entries' | 'settings' | 'lacks'>,
  principal: Principal,
  name: string,
  person?: 'person',
): ToolEntry | Refusal {
  const entry = entries.get(name)
  // What is listed can be called: of most principals the evaluator was asked before.
  if (!entry || (!principal.narrowing && !lacks(principal).has(name))) return entry ?? 'unknown'
  const of = person ? { ...settings, profiles: [] } : settings
  return offerOf(principal, entry.offered.tool, of).refusal ?? entry
}

/** Calls a tool. Whatever is wrong with the call, and whatever goes wrong in the tool, is an outcome. */
export async function callThrough(
  gate: Gate,
  principal: Principal,
  name: string,
  given: unknown,
  caller: Caller,
): Promise<ToolOutcome> {
  const started = gate.clock.now()
  const args = typedArguments(gate.entries.get(name)?.offered.tool.input ?? {}, given)
  const admission = admit(gate, principal, name, args, caller)
  const admitted = admission instanceof Promise ? await admission : admission
  if ('entry' in admitted) return run(gate, admitted, args, caller)
  if ('isError' in admitted) return admitted
  const { refused, text, problems = [] } = admitted
  const fault = { code: refused === 'invalid' ? 'invalid' : 'forbidden', problems } as const
  const outcome: ToolOutcome = { ...failure(text), refused, fault }
  // What waits for its user works as the site wants it, and is no fault.
  const status = refused === 'waiting' ? refused : outage.has(refused) ? 'error' : 'denied'
  return tellCall(gate, principal, { name, args, started }, { outcome, status })
}

/** Audits, as it came, a call whose name or arguments are not what MCP allows there. */
export function tellMalformed(
  gate: Gate,
  principal: Principal,
  name: unknown,
  args: unknown,
  why: string,
): void {
  const told = { name: typeof name === 'string' ? name : (JSON.stringify(name) ?? ''), args }
  const outcome: ToolOutcome = { ...failure(why), refused: 'invalid' }
  const call = { ...told, started: gate.clock.now() }
  const tell = (): void => void tellCall(gate, principal, call, { outcome, status: 'error' })
  // What a token asks that is not valid is told by its guard.
  if (principal.proven) void principal.proven.then(tell, () => undefined)
  else tell()
}

/** Makes all checks before a tool runs. A ToolOutcome is returned when a question is on its way. */
function admit(
  gate: Gate,
  asking: Principal,
  name: string,
  args: unknown,
  caller: Caller,
): Soon<Admitted | Denied | ToolOutcome> {
  const entry = findTool(gate, asking, name, caller.person && 'person')
  if (typeof entry === 'string') {
    const isOffered = (one: string): boolean => typeof findTool(gate, asking, one) !== 'string'
    const why =
      entry === 'unknown'
        ? didYouMean(name, [...gate.entries.keys()].filter(isOffered))
        : gate.entries.get(name)?.offered.tool.withheld
    return denied(entry, name, why)
  }
  const { offered } = entry
  const free = offered.confirm === 'never'
  if (caller.program && !(offered.annotations.readOnlyHint && free))
    return { refused: 'forbidden', text: `${name} does more than read; it must be called by itself` }
  const problems = entry.check(args)
  if (problems.length > 0)
    return {
      refused: 'invalid',
      text: `invalid arguments for ${name}: ${problemsText(problems)}${suchAs(offered.tool)}`,
      problems: problems.map((problem) => problemsText([problem])),
    }
  const once =
    caller.repeatable && !offered.annotations.readOnlyHint
      ? new Once(gate.documents, caller.repeatable, asking.user)
      : undefined
  if (free && !caller.program && !once) return { entry, principal: asking }
  return confirmed(gate, { entry, principal: asking, once }, args, caller)
}

/** Continues the checks, where they take a look at earlier calls, a person, or time. */
async function confirmed(
  gate: Gate,
  { entry, principal: asking, once }: Admitted,
  args: unknown,
  caller: Caller,
): Promise<Admitted | Denied | ToolOutcome> {
  const { offered } = entry
  const free = offered.confirm === 'never'
  const clash = await once?.look()
  if (clash !== undefined) return { refused: 'invalid', text: clash }
  // A call that a person allowed and that was done is not asked again: only its answer is given.
  const no = free || once?.repeats ? undefined : await caller.confirm(offered, args).catch(pending)
  if (no !== undefined) return typeof no === 'string' ? { refused: 'unconfirmed', text: no } : no
  if (free && !caller.program) return { entry, principal: asking, once }
  // A program runs for minutes, and a person may think as long: a permission lost meanwhile is lost.
  const principal = gate.present(asking, offered.tool.name, caller.person && 'person')
  return principal ? { entry, principal, once } : denied('lost', offered.tool.name)
}

/** Turns a question to a person that is under way into an outcome: the call comes again with the answer. */
function pending(error: unknown): Denied | ToolOutcome {
  if (error instanceof ApprovalPending) return { refused: 'waiting', text: error.message }
  if (error instanceof AnswerPending) return failure(error.message)
  throw error
}

/** Runs an admitted tool within its time, its places and its bytes. */
async function run(
  gate: Gate,
  { entry, principal, once }: Admitted,
  args: unknown,
  caller: Caller,
): Promise<ToolOutcome> {
  const { audit, calls, clock, limits } = gate
  const { offered, setting } = entry
  const { tool } = offered
  const changes = !offered.annotations.readOnlyHint
  const started = clock.now()
  const span = gate.tracing?.start(`execute_tool ${tool.name}`, {
    kind: 'internal',
    parent: principal.trace,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool.name },
  })
  // The tool's own requests belong under its own span, and the documents shown to it belong to its own event.
  const caught = noting(principal, new Shown(), span?.context)
  const milliseconds =
    setting?.timeout_seconds !== undefined
      ? setting.timeout_seconds * 1000
      : (tool.timeout ?? limits.timeout_seconds * 1000)
  const budget = setting?.max_result_bytes ?? limits.max_result_bytes
  const stop = new Stop(principal)
  const unlink = caller.stop.onEnd(() => stop.end(caller.stop.reason!))
  let ending: Ending
  let leave: (() => void) | undefined
  try {
    // A call that cannot be audited must not run.
    audit.requireWritable(!changes)
    leave = calls.enter(principal.user, tool.name, limits.max_concurrent_per_user, setting?.max_concurrent)
    const running = tool.run(args, new Running(gate, caught, caller, { stop, budget, once }))
    const answer = unlessEnded(running, stop, milliseconds, leave)
    leave = undefined
    ending = fitAnswer(tool, await answer, {
      budget,
      changes,
      asObjects: caller.program ?? caller.person ?? false,
    })
  } catch (error) {
    leave?.()
    // The reason is checked first, since a tool that is stopped may throw anything.
    if (stop.reason === late) ending = stopped(tool, milliseconds)
    else if (stop.reason) ending = { outcome: failure('cancelled'), status: 'cancelled' }
    else ending = failed(gate, tool, principal, error)
  }
  unlink()
  principal.shown?.include(caught.shown)
  span?.end(ending.status === 'ok' ? undefined : ending.status)
  const { name, computes } = tool
  return tellCall(gate, caught, { name, args, started, repeats: once?.repeats, changes, computes }, ending)
}

/** The context of a running tool; a class, since an object with a getter of its own costs as much as the checks of the call. */
class Running implements ToolContext {
  readonly principal: Principal
  readonly documents: ToolContext['documents']
  readonly library: ToolContext['library']
  readonly budget: number
  readonly progress: ToolContext['progress']
  readonly log: ToolContext['log']
  readonly ask: ToolContext['ask']
  readonly repeatable: ToolContext['repeatable']
  readonly publicUrl: ToolContext['publicUrl']
  readonly #stop: Stop
  readonly #gate: Gate
  readonly #caller: Caller

  constructor(
    gate: Gate,
    principal: Principal,
    caller: Caller,
    { stop, budget, once }: { readonly stop: Stop; readonly budget: number; readonly once: Once | undefined },
  ) {
    this.principal = principal
    this.documents = askedBy(gate.documents, principal, { once, stop })
    this.library = caller.library
    this.budget = budget
    this.progress = caller.progress
    this.log = caller.log
    this.ask = caller.ask
    this.repeatable = caller.repeatable
    this.publicUrl = caller.publicUrl
    this.#stop = stop
    this.#gate = gate
    this.#caller = caller
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get lacks(): ToolContext['lacks'] {
    return this.#gate.lacks(this.principal)
  }

  get callTool(): ToolContext['callTool'] {
    return programCalls(this.#gate, this.principal, this.#caller, this.#stop)
  }
}

/** Makes the function by which a running tool calls other tools, through this same gate. */
function programCalls(gate: Gate, principal: Principal, caller: Caller, stop: Stop): ToolContext['callTool'] {
  return (name, args) =>
    caller.program
      ? // One level only: each call has limits and an audit event, but a chain of them could go on for ever.
        Promise.resolve(failure('a tool that was called by a tool cannot call further ones'))
      : callThrough(gate, principal, name, args ?? {}, {
          ...caller,
          stop,
          progress: () => undefined,
          program: true,
        })
}

function stopped(tool: Tool, milliseconds: number): Ending {
  const text = `${tool.name} was stopped after ${milliseconds / 1000} seconds; ask for less, or for a part at a time`
  return { outcome: failure(text), status: 'timeout' }
}

function failed({ log }: Gate, tool: Tool, { requestId, user }: Principal, error: unknown): Ending {
  // This is no fault: the call comes again with the answers.
  if (error instanceof AnswerPending) return { outcome: failure(error.message), status: 'ok' }
  if (error instanceof AppError) {
    const said = peerMessageOf(error)
    const text = error.code === 'unavailable' ? `${said} (try again later)` : said
    const outcome = { ...failure(text), fault: faultOf(error) }
    return { outcome, status: error.code === 'forbidden' ? 'denied' : 'error' }
  }
  log.error('a tool failed', { tool: tool.name, request_id: requestId, user, error })
  const text = `internal error in ${tool.name}; it was logged as request ${requestId}`
  return { outcome: failure(text), status: 'error', error: `internal error: ${messageOf(error)}` }
}
