/** Answers `tasks/get`, `tasks/update` and `tasks/cancel`, and turns calls into tasks when they take long (SEP-2663). */
import { setTimeout as delay } from 'node:timers/promises'
import { isoTime } from '#leaf/clock.ts'
import { AppError, messageOf, peerMessageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { Stop } from '#leaf/stop.ts'
import { askable, type Asking, askingFor, cannotAsk, fits } from './asking.ts'
import type { Call } from '../call.ts'
import { isObject } from '#leaf/as-json.ts'
import { errorCodes, type Json, JsonRpcError, objectParam, textParam } from '../json-rpc.ts'
import type { SuspendedCalls } from './suspended-calls.ts'
import { taskLife, type OpenTask, type TaskRecord, type Tasks } from './tasks.ts'

/** The extension's name, in the capabilities of both sides. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'
/** Milliseconds that a call may take before a client that can poll gets a task instead. */
const graceMs = 750
const pollIntervalMs = 1000
/** Milliseconds to wait for a person's decision, until the question expires. */
const patienceMs = 900_000

/** The dependencies of calls that may become tasks. */
export interface TaskDeps {
  readonly tasks: Tasks
  readonly suspended: SuspendedCalls
  readonly log: Log
}

/** True when the client of this very call can be given a task. */
export function takesTasks(call: Call): boolean {
  const extensions = call.revision.envelope ? call.capabilities()?.['extensions'] : undefined
  return isObject(extensions) && isObject(extensions[tasksExtension])
}

/** Requires that the client declared the extension; JsonRpcError -32021 otherwise. */
export function requireTasks(call: Call): void {
  if (takesTasks(call)) return
  throw new JsonRpcError(errorCodes.missingCapability, `the client did not declare ${tasksExtension}`, {
    data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
  })
}

/** Returns the state of a task, with its result if it has one. */
export async function getTask(call: Call, { tasks }: TaskDeps): Promise<Json> {
  requireTasks(call)
  const task = await tasks.find(call.principal, textParam(call.params, 'taskId'))
  const { asked = {}, answers, result, error, roleKey = call.principal.roleKey } = task
  // The answer holds what the user may perhaps no longer read.
  if (roleKey !== call.principal.roleKey)
    throw new JsonRpcError(
      errorCodes.invalidParams,
      'params.taskId: the roles of the user have changed since this call was made; make it again',
    )
  const open = Object.fromEntries(Object.entries(asked).filter(([name]) => !(name in answers)))
  return {
    ...shown(task),
    ...(task.status === 'input_required' && { inputRequests: open }),
    ...(task.status === 'completed' && { result }),
    ...(task.status === 'failed' && { error, statusMessage: error?.message }),
  }
}

/** Stores the client's answers. The next `tasks/get` shows which of them count. */
export async function updateTask(call: Call, { tasks }: TaskDeps): Promise<Json> {
  requireTasks(call)
  const said = objectParam(call.params, 'inputResponses')
  await tasks.answer(call.principal, textParam(call.params, 'taskId'), (question, name) =>
    fits(question, said[name]) ? said[name] : undefined,
  )
  return {}
}

/** Ends a task. */
export async function cancelTask(call: Call, { tasks }: TaskDeps): Promise<Json> {
  requireTasks(call)
  await tasks.cancel(call.principal, textParam(call.params, 'taskId'))
  return {}
}

function shown({ id, status, message, createdAt, updatedAt }: TaskRecord): Json {
  return {
    taskId: id,
    status,
    ...(message !== undefined && { statusMessage: message }),
    createdAt: isoTime(createdAt),
    lastUpdatedAt: isoTime(updatedAt),
    ttlMs: taskLife,
    pollIntervalMs,
  }
}

/** Runs a call, and gives its client a task when it takes long. Questions before that go by rounds, later ones by the task. */
export async function runAsTask(
  call: Call,
  tool: string,
  deps: TaskDeps,
  run: (own: Call, asking: Asking) => Promise<Json>,
): Promise<Json> {
  const stop = new Stop()
  const unlink = call.stop.onEnd(() => stop.end(call.stop.reason!))
  const own = { ...call, stop }
  let opening: Promise<OpenTask | undefined> | undefined
  let said: string | undefined
  let over = false
  const asking = await askingOf(own, deps, () => opening)
  const say = (message: string): void => {
    said = message
    void opening?.then((task) => task?.say(message))
  }
  const work = run(own, { ...asking, wait: { milliseconds: patienceMs, say } }).finally(() => {
    over = true
  })
  await Promise.race([work.catch(() => undefined), delay(graceMs, undefined, { ref: false })])
  if (over) return work
  opening = deps.tasks.open(call.principal, tool, stop, said)
  const task = await opening
  if (!task || over) {
    await task?.discard()
    return work
  }
  // From here on the call does not depend on the connection.
  unlink()
  void settle(task, work, deps.log)
  return { resultType: 'task', ...shown(task.record) }
}

async function settle(task: OpenTask, work: Promise<Json>, log: Log): Promise<void> {
  try {
    const result = await work.catch((error: unknown) => ({ fault: faultOf(error, log) }))
    await task.end(
      'fault' in result && result.fault instanceof JsonRpcError
        ? { status: 'failed', error: { code: result.fault.code, message: result.fault.message } }
        : { status: 'completed', result },
    )
  } catch (error) {
    log.error('the end of a task could not be kept', { task: task.record.id, reason: messageOf(error) })
  }
}

function faultOf(error: unknown, log: Log): JsonRpcError {
  if (error instanceof JsonRpcError) return error
  if (error instanceof AppError) return new JsonRpcError(errorCodes.internal, peerMessageOf(error))
  log.error('a task failed', { error })
  return new JsonRpcError(errorCodes.internal, 'Internal error: see the server log')
}

async function askingOf(
  call: Call,
  { suspended }: TaskDeps,
  opening: () => Promise<OpenTask | undefined> | undefined,
): Promise<Asking> {
  const rounds = await askingFor(call, suspended)
  const either =
    (before: Asking['ask']): Asking['ask'] =>
    async (asked) => {
      const task = await opening()
      if (!task) return before(asked)
      const open = askable(asked, call.capabilities())
      if (Object.keys(open).length === 0) throw cannotAsk(asked)
      return task.ask(open)
    }
  return { ...rounds, ask: either(rounds.ask), confirm: either(rounds.confirm) }
}
