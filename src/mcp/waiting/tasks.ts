/**
 * Calls that go on after their request was answered (extension `io.modelcontextprotocol/tasks`, SEP-2663). A task's record
 * is in the state: it belongs to the user and client that made the call, and expires an hour after it began.
 */
import type { Clock } from '#leaf/clock.ts'
import { Cancelled } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Stop } from '#leaf/stop.ts'
import type { Collection, CollectionSpec, Store } from '#state/store.ts'
import { changeUnderWay, isLost, isUnderWay, type Vouched, vouchedFrom, Voucher } from '../../core/vouched.ts'
import type { ClientQuestion } from '../../tools/tool.ts'
import { errorCodes, type Json, JsonRpcError } from '../json-rpc.ts'
import type { RunningCalls } from '../running.ts'

/** The stored record of a task. */
export interface TaskRecord extends Vouched {
  readonly user: string
  readonly client?: string
  /** The roles that the call was made with; absent in records up to 2.17.0. */
  readonly roleKey?: string
  readonly tool: string
  readonly message?: string
  readonly createdAt: number
  readonly expiresAt: number
  /** The open questions to the client, by names that are used once. */
  readonly asked?: Readonly<Record<string, ClientQuestion>>
  readonly answers: Readonly<Record<string, unknown>>
  readonly result?: Json
  /** The length of the result as JSON. */
  readonly resultLength?: number
  readonly error?: { readonly code: number; readonly message: string }
}

type Ending = Pick<TaskRecord, 'status' | 'message' | 'result' | 'resultLength' | 'error'>

/** Milliseconds for which a task and its result are kept. */
export const taskLife = 3_600_000
const look = 1000
const mostOpen = 50
const mostResult = 4_000_000
/** The limits of a user's ended tasks; the newest are kept. */
const mostEnded = 100
const mostResults = 16_000_000

/** The collection of tasks. */
export const taskRecords: CollectionSpec<TaskRecord> = {
  name: 'mcp.task',
  indexes: ['user'],
  expires: 'expiresAt',
}

/** The tasks of all users. */
export class Tasks {
  readonly #clock: Clock
  readonly #running: RunningCalls
  readonly #tasks: Collection<TaskRecord>
  readonly #open = new Map<string, OpenTask>()

  constructor(deps: { store: Store; clock: Clock; running: RunningCalls }) {
    this.#clock = deps.clock
    this.#running = deps.running
    this.#tasks = deps.store.collection(taskRecords)
  }

  /** Stores a running call as a task; the stop ends it. Undefined while the user has too many. */
  async open(
    principal: Principal,
    tool: string,
    stop: Stop,
    message?: string,
  ): Promise<OpenTask | undefined> {
    const mine = await this.#tasks.find({ where: { user: principal.user } })
    if (mine.filter(isUnderWay).length >= mostOpen) return undefined
    const now = this.#clock.now()
    const record: TaskRecord = {
      id: randomId(),
      user: principal.user,
      ...(principal.client && { client: principal.client.id }),
      roleKey: principal.roleKey,
      tool,
      ...vouchedFrom(this.#clock),
      ...(message !== undefined && { message }),
      createdAt: now,
      expiresAt: now + taskLife,
      answers: {},
    }
    await this.#tasks.insert(record)
    const leave = this.#running.add(principal, record.id, stop)
    const task = new OpenTask(record, this.#tasks, this.#clock, stop, () => {
      leave()
      this.#open.delete(record.id)
    })
    this.#open.set(record.id, task)
    return task
  }

  /** Returns a task of the principal's own. JsonRpcError -32602 for another's, an expired or a missing one alike. */
  async find(principal: Principal, id: string): Promise<TaskRecord> {
    const found = await this.#tasks.get(id)
    if (!found || found.user !== principal.user || found.client !== principal.client?.id)
      throw new JsonRpcError(errorCodes.invalidParams, 'params.taskId: no such task; it may have expired')
    if (!isLost(found, this.#clock)) return found
    const error = { code: errorCodes.internal, message: 'the service stopped while the call ran' }
    const after = await this.#change(id, () => ({ status: 'failed', error }))
    return after ?? found
  }

  /** Stores answers to open questions; others are ignored. */
  async answer(
    principal: Principal,
    id: string,
    take: (asked: ClientQuestion, name: string) => unknown,
  ): Promise<void> {
    await this.find(principal, id)
    await this.#change(id, ({ asked = {}, answers }) => {
      const heard = Object.entries(asked)
        .filter(([name]) => !(name in answers))
        .map(([name, question]) => [name, take(question, name)] as const)
        .filter(([, said]) => said !== undefined)
      return heard.length === 0 ? undefined : { answers: { ...answers, ...Object.fromEntries(heard) } }
    })
    this.#open.get(id)?.wake()
  }

  /** Cancels a running task; one that has ended stays as it is. */
  async cancel(principal: Principal, id: string): Promise<void> {
    await this.find(principal, id)
    await this.#change(id, () => ({ status: 'cancelled' }))
    this.#open.get(id)?.abort()
  }

  /** Cancels all running tasks of a user, at whatever daemon; returns how many. */
  async cancelAll(user: string): Promise<number> {
    const mine = (await this.#tasks.find({ where: { user } })).filter(isUnderWay)
    for (const { id } of mine) {
      await this.#change(id, () => ({ status: 'cancelled' }))
      this.#open.get(id)?.abort()
    }
    return mine.length
  }

  /** Ends the tasks that run here, as the service stops. */
  async close(): Promise<void> {
    const error = { code: errorCodes.internal, message: 'the service stopped while the call ran' }
    await Promise.all([...this.#open.values()].map((task) => task.end({ status: 'failed', error })))
  }

  #change(
    id: string,
    change: (record: TaskRecord) => Partial<TaskRecord> | undefined,
  ): Promise<TaskRecord | undefined> {
    return changeUnderWay(this.#tasks, id, this.#clock, change)
  }
}

/** A task whose call runs in this daemon. */
export class OpenTask {
  readonly record: TaskRecord
  readonly #tasks: Collection<TaskRecord>
  readonly #clock: Clock
  readonly #stop: Stop
  readonly #leave: () => void
  readonly #voucher: Voucher<TaskRecord>
  #message: string | undefined
  #woken: (() => void) | undefined

  constructor(
    record: TaskRecord,
    tasks: Collection<TaskRecord>,
    clock: Clock,
    stop: Stop,
    leave: () => void,
  ) {
    this.record = record
    this.#tasks = tasks
    this.#clock = clock
    this.#stop = stop
    this.#leave = leave
    this.#voucher = new Voucher(tasks, record.id, clock, {
      said: () => (this.#message === undefined ? {} : { message: this.#message }),
      ended: () => this.abort(),
    })
  }

  /** Sets the message about the task's present work. */
  say(message: string): void {
    this.#message = message
    this.#voucher.now()
  }

  /** Asks the client, and waits for all answers. Rejects when the task ends before. */
  async ask(questions: Readonly<Record<string, ClientQuestion>>): Promise<Readonly<Record<string, unknown>>> {
    const names = new Map<string, string>()
    await this.#change((record) => {
      for (const key of Object.keys(questions)) {
        let name = key
        for (let n = 2; name in record.answers || name in (record.asked ?? {}); n++) name = `${key}.${n}`
        names.set(key, name)
      }
      const asked = Object.fromEntries([...names].map(([key, name]) => [name, questions[key]!]))
      return { status: 'input_required', asked: { ...record.asked, ...asked } }
    })
    for (;;) {
      if (this.#stop.reason) throw this.#stop.reason
      const record = await this.#tasks.get(this.record.id)
      if (!record || !isUnderWay(record)) throw new Cancelled()
      if ([...names.values()].every((name) => name in record.answers)) {
        await this.#change(({ asked = {} }) => {
          const left = Object.entries(asked).filter(([name]) => ![...names.values()].includes(name))
          return { status: left.length > 0 ? 'input_required' : 'working', asked: Object.fromEntries(left) }
        })
        return Object.fromEntries([...names].map(([key, name]) => [key, record.answers[name]]))
      }
      await this.#pause()
    }
  }

  wake(): void {
    this.#woken?.()
  }

  abort(): void {
    this.#stop.end(new Cancelled())
    this.wake()
  }

  /** Stores the end of the call, once. */
  async end(ending: Ending): Promise<void> {
    this.#voucher.stop()
    this.#leave()
    const resultLength = ending.result ? JSON.stringify(ending.result).length : 0
    const big = resultLength > mostResult
    const text = 'the result is too long to be kept; ask for less, or for a part at a time'
    await this.#change(() => ({
      ...ending,
      resultLength: big ? 0 : resultLength,
      ...(this.#stop.reason && !ending.error && { status: 'cancelled' }),
      ...(big && { result: { content: [{ type: 'text', text }], isError: true } }),
    }))
    await this.#forgetOlder()
    this.abort()
  }

  /** Deletes the user's older ended tasks beyond the limits of number and length. */
  async #forgetOlder(): Promise<void> {
    const { id, user } = this.record
    const mine = await this.#tasks.find({
      where: { user },
      order: [{ field: 'createdAt', descending: true }],
    })
    const ended = mine.filter((one) => !isUnderWay(one))
    let [count, length] = [0, 0]
    for (const one of [
      ...ended.filter((own) => own.id === id),
      ...ended.filter((other) => other.id !== id),
    ]) {
      length += one.resultLength ?? 0
      if (++count > mostEnded || length > mostResults) await this.#tasks.delete(one.id)
    }
  }

  /** Deletes the task: the call was over before its client heard of it. */
  async discard(): Promise<void> {
    this.#voucher.stop()
    this.#leave()
    await this.#tasks.delete(this.record.id)
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, look)
      this.#woken = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #change(change: (record: TaskRecord) => Partial<TaskRecord> | undefined): Promise<TaskRecord | undefined> {
    return changeUnderWay(this.#tasks, this.record.id, this.#clock, change)
  }
}
