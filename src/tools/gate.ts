/**
 * The one way to run a tool, for MCP clients and for programs alike: it is found, its arguments are checked, a person
 * confirms where the site says so, it runs within its limits, its answer is bounded, and every ending is audited.
 */
import { AppError, messageOf, peerMessageOf } from '../core/errors.ts'
import { noting, type Principal } from '../core/principal.ts'
import { type Check, problemsText } from '../core/schema.ts'
import type { Settings } from '../core/settings.ts'
import { Shown } from '../core/shown.ts'
import type { Soon } from '../core/soon.ts'
import { late, Stop, unlessEnded } from '../core/stop.ts'
import { Once } from '../documents/once.ts'
import type { Tracer } from '../core/trace-context.ts'
import type { Calls } from './calls.ts'
import type { Caller, OfferedTool, Refusal, ToolOutcome } from './catalogue.ts'
import { offerOf } from './offer.ts'
import { dataOf, failure, outcomeOf } from './output.ts'
import type { ToolSetting } from './read-tools.ts'
import { type Ending, tellCall, type Telling } from './telling.ts'
import { AnswerPending, ApprovalPending, type Tool, type ToolContext } from './tool.ts'
import { typedArguments } from './typed-arguments.ts'

/** A tool with all that is computed once. */
export interface ToolEntry {
  readonly offered: OfferedTool
  readonly check: Check
  readonly setting: ToolSetting | undefined
}

/** What the gate works with: the tools of one snapshot, and what they work with. */
export interface Gate extends Telling {
  readonly entries: ReadonlyMap<string, ToolEntry>
  readonly limits: Settings['tools']
  readonly calls: Calls
  readonly tracing?: Tracer | undefined
  /** The principal as it is by now; undefined once it may not call the tool any more. */
  readonly present: (principal: Principal, name: string) => Principal | undefined
}

/** Why a call did not come to its tool. */
interface Denied {
  readonly refused: NonNullable<ToolOutcome['refused']>
  readonly text: string
}

/** Who may run what. */
interface Admitted {
  readonly entry: ToolEntry
  readonly principal: Principal
  readonly once?: Once | undefined
}

/** The tool as the principal may call it, or why not. */
export function findTool(
  { entries, settings }: Pick<Gate, 'entries' | 'settings'>,
  principal: Principal,
  name: string,
): ToolEntry | Refusal {
  const entry = entries.get(name)
  if (!entry) return 'unknown'
  return offerOf(principal, entry.offered.tool, settings).refusal ?? entry
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
  const { refused, text } = admitted
  const outcome: ToolOutcome = { ...failure(text), refused }
  // Nobody denied what only waits.
  const status = refused === 'invalid' || refused === 'waiting' ? 'error' : 'denied'
  tellCall(gate, principal, { name, args, started }, { outcome, status })
  return outcome
}

/** A call whose name or arguments are not what MCP has there is told as it came. */
export function tellMalformed(
  gate: Gate,
  principal: Principal,
  name: unknown,
  args: unknown,
  why: string,
): void {
  const told = { name: typeof name === 'string' ? name : (JSON.stringify(name) ?? ''), args }
  const outcome: ToolOutcome = { ...failure(why), refused: 'invalid' }
  tellCall(gate, principal, { ...told, started: gate.clock.now() }, { outcome, status: 'error' })
}

/** All that is asked before a tool runs. An outcome is that of a question which is on its way. */
function admit(
  gate: Gate,
  asking: Principal,
  name: string,
  args: unknown,
  caller: Caller,
): Soon<Admitted | Denied | ToolOutcome> {
  const entry = findTool(gate, asking, name)
  if (typeof entry === 'string') return denied(entry, name)
  const { offered } = entry
  const free = offered.confirm === 'never'
  if (caller.program && !(offered.annotations.readOnlyHint && free))
    return { refused: 'forbidden', text: `${name} does more than read; it must be called by itself` }
  const problems = entry.check(args)
  if (problems.length > 0)
    return { refused: 'invalid', text: `invalid arguments for ${name}: ${problemsText(problems)}` }
  const once =
    caller.repeatable && !offered.annotations.readOnlyHint
      ? new Once(gate.documents, caller.repeatable)
      : undefined
  if (free && !caller.program && !once) return { entry, principal: asking }
  return confirmed(gate, { entry, principal: asking, once }, args, caller)
}

/** The same, where it takes a look at what was called before, a person, or time. */
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
  // What a person allowed and what was done is not asked again: only its answer is given.
  const no = free || once?.repeats ? undefined : await caller.confirm(offered, args).catch(pending)
  if (no !== undefined) return typeof no === 'string' ? { refused: 'unconfirmed', text: no } : no
  if (free && !caller.program) return { entry, principal: asking, once }
  // A program runs for minutes, and a person may think as long: what was lost meanwhile is lost.
  const principal = gate.present(asking, offered.tool.name)
  return principal ? { entry, principal, once } : denied('lost', offered.tool.name)
}

/** The person is being asked just now: the call comes again with the answer. */
function pending(error: unknown): Denied | ToolOutcome {
  if (error instanceof ApprovalPending) return { refused: 'waiting', text: error.message }
  if (error instanceof AnswerPending) return failure(error.message)
  throw error
}

/** Specification §7.1. What a user lacks permission for is told apart from what does not exist only by its code. */
function denied(refused: Refusal | 'lost', name: string): Denied {
  const tool = `tool ${JSON.stringify(name.slice(0, 128))}`
  const texts = {
    unknown: `unknown ${tool}`,
    disabled: `${tool} is disabled`,
    forbidden: `permission denied: ${tool} is not available to this user`,
    lost: `permission denied: ${tool} is not available to this user any more`,
  }
  return { refused, text: texts[refused] }
}

/** Runs a tool that may run, within its time, its places and its bytes. */
async function run(
  gate: Gate,
  { entry, principal, once }: Admitted,
  args: unknown,
  caller: Caller,
): Promise<ToolOutcome> {
  const { audit, calls, clock, limits } = gate
  const { offered, setting } = entry
  const { tool } = offered
  const started = clock.now()
  const span = gate.tracing?.start(`execute_tool ${tool.name}`, {
    kind: 'internal',
    parent: principal.trace,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool.name },
  })
  // What the tool asks of others belongs under its own span, and what it is shown to its own event.
  const caught = noting(principal, new Shown(), span?.context)
  const milliseconds =
    setting?.timeout_seconds !== undefined
      ? setting.timeout_seconds * 1000
      : (tool.timeout ?? limits.timeout_seconds * 1000)
  const budget = setting?.max_result_bytes ?? limits.max_result_bytes
  const stop = new Stop()
  const unlink = caller.stop.onEnd(() => stop.end(caller.stop.reason!))
  let ending: Ending
  let leave: (() => void) | undefined
  try {
    // What cannot be audited must not be done.
    audit.requireWritable(offered.annotations.readOnlyHint)
    const most = limits.max_concurrent_per_user
    leave = calls.enter(principal.user, tool.name, most, setting?.max_concurrent)
    const running = tool.run(args, new Running(gate, caught, caller, { stop, budget, once }))
    const answer = unlessEnded(running, stop, milliseconds, leave)
    leave = undefined
    ending = fit(tool, await answer, budget)
  } catch (error) {
    leave?.()
    // First the reason, since a tool that is stopped may throw anything.
    if (stop.reason === late) ending = stopped(tool, milliseconds)
    else if (stop.reason) ending = { outcome: failure('cancelled'), status: 'cancelled' }
    else ending = failed(gate, tool, principal, error)
  }
  unlink()
  span?.end(ending.status === 'ok' ? undefined : ending.status)
  tellCall(gate, caught, { name: tool.name, args, started, repeats: once?.repeats }, ending)
  return ending.outcome
}

/** What a running tool works with; a class, since an object with a getter of its own costs as much as the checks of the call. */
class Running implements ToolContext {
  readonly principal: Principal
  readonly documents: ToolContext['documents']
  readonly library: ToolContext['library']
  readonly budget: number
  readonly progress: ToolContext['progress']
  readonly log: ToolContext['log']
  readonly ask: ToolContext['ask']
  readonly repeatable: ToolContext['repeatable']
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
    this.documents = once ? { ...gate.documents, once } : gate.documents
    this.library = caller.library
    this.budget = budget
    this.progress = caller.progress
    this.log = caller.log
    this.ask = caller.ask
    this.repeatable = caller.repeatable
    this.#stop = stop
    this.#gate = gate
    this.#caller = caller
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get callTool(): ToolContext['callTool'] {
    return programCalls(this.#gate, this.principal, this.#caller, this.#stop)
  }
}

/** What a running tool calls: other tools, through this same gate. */
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

function fit(tool: Tool, output: unknown, budget: number): Ending {
  const outcome = outcomeOf(tool, output)
  const bytes = Buffer.byteLength(outcome.text)
  const json = typeof dataOf(output) === 'object' ? outcome.text : undefined
  if (bytes <= budget) return { outcome, status: outcome.isError ? 'error' : 'ok', output, json, bytes }
  const text = `the answer of ${tool.name} has ${bytes} bytes, more than the ${budget} allowed; ask for fewer fields or fewer rows`
  return { outcome: failure(text), status: 'error', output }
}

function stopped(tool: Tool, milliseconds: number): Ending {
  const text = `${tool.name} was stopped after ${milliseconds / 1000} seconds; ask for less, or for a part at a time`
  return { outcome: failure(text), status: 'timeout' }
}

function failed({ log }: Gate, tool: Tool, { requestId, user }: Principal, error: unknown): Ending {
  // Not a fault: the call comes again with the answers.
  if (error instanceof AnswerPending) return { outcome: failure(error.message), status: 'ok' }
  if (error instanceof AppError) {
    const said = peerMessageOf(error)
    const text = error.code === 'unavailable' ? `${said} (try again later)` : said
    return { outcome: failure(text), status: error.code === 'forbidden' ? 'denied' : 'error' }
  }
  log.error('a tool failed', { tool: tool.name, request_id: requestId, user, error })
  const text = `internal error in ${tool.name}; it was logged as request ${requestId}`
  return { outcome: failure(text), status: 'error', error: `internal error: ${messageOf(error)}` }
}
