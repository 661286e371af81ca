/** The process of one module: it runs the module's code, and asks the daemon for whatever that may reach. */
import process from 'node:process'
import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { deserialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { asJson } from '#leaf/as-json.ts'
import { AppError } from '#leaf/errors.ts'
import { DaemonChannel } from '#sandbox/frames.ts'
import {
  bundleName,
  type FromModule,
  mostBytes,
  type Settlement,
  type Thrown,
  type ToModule,
} from './messages.ts'

/** A tool as its author wrote it. */
interface Tool {
  readonly name: string
  run(args: unknown, context: object): Promise<unknown>
}

/** What a module exports. */
interface Module {
  tools(kit: { defineTool(definition: unknown): unknown; AppError: typeof AppError }): unknown
}

/** Milliseconds after which a module counts as loaded: unawaited work of it may throw at once. */
const settlingMilliseconds = 100

const tools = new Map<string, Tool>()
const calls = new Map<number, AbortController>()
const questions = new Map<number, (settled: Settlement) => void>()
let lastQuestion = 0
const exit = process.exit.bind(process)
const channel = new DaemonChannel()

function send(message: FromModule): void {
  const bytes = Buffer.byteLength(JSON.stringify(message))
  if (bytes > mostBytes)
    throw new RangeError(`${bytes} bytes are more than the ${mostBytes} that a message may have`)
  channel.say(message)
}

function thrown(error: unknown): Thrown {
  if (!(error instanceof Error)) return { message: String(error), stack: '' }
  const { message, stack = '' } = error
  return { message, stack, ...(error instanceof AppError && { code: error.code }) }
}

let ending = false

/** Reports the reason and ends the process; the daemon starts another. */
function end(error: unknown): void {
  if (ending) return
  ending = true
  process.exit = exit
  channel.say({ fatal: thrown(error) })
  channel.end()
}

async function load(text: string): Promise<void> {
  const address = `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`
  const module = (await import(address)) as Partial<Module>
  if (typeof module.tools !== 'function') throw new Error('must export a function "tools" that answers tools')
  const given = module.tools({ defineTool: (definition) => definition, AppError })
  if (!Array.isArray(given)) throw new Error('"tools" must answer a list of tools, and at once')
  const list = given as readonly (Tool | null)[]
  for (const tool of list) if (tool) tools.set(tool.name, tool)
  await wait(settlingMilliseconds)
  const announced = list.map((tool) => ({ ...tool, runs: typeof tool?.run === 'function' }))
  send({ tools: asJson(announced) as typeof announced })
}

async function call(message: Extract<ToModule, { call: number }>): Promise<void> {
  const { call, tool, args } = message
  const controller = new AbortController()
  calls.set(call, controller)
  const ask = (verb: string, params: unknown[]): Promise<unknown> => {
    const question = ++lastQuestion
    return new Promise((resolve, reject) => {
      send({ question, call, verb, params })
      questions.set(question, (settled) =>
        'thrown' in settled ? reject(errorOf(settled.thrown)) : resolve(settled.value),
      )
    })
  }
  const context = {
    ...(deserialize(Buffer.from(message.given, 'base64')) as object),
    signal: controller.signal,
  }
  for (const verb of message.asks) put(context, verb, (...params) => ask(verb, params))
  for (const verb of message.tells) put(context, verb, (...params) => send({ of: call, verb, params }))
  try {
    const value = asJson(await tools.get(tool)!.run(args, context))
    // An unawaited promise of the tool may end the process: then this call has failed as well.
    await setImmediate()
    send({ resultOf: call, value })
  } catch (error) {
    await setImmediate()
    send({ resultOf: call, thrown: thrown(error) })
  }
  calls.delete(call)
}

function errorOf({ message, code }: Thrown): Error {
  return code === undefined ? new Error(message) : new AppError(code as AppError['code'], message)
}

/** Puts a function where its name says: `a.b` is the member `b` of a member `a`. */
function put(context: object, name: string, work: (...params: unknown[]) => unknown): void {
  const [first, second] = name.split('.') as [string, string?]
  const members = context as Record<string, object>
  if (second === undefined) members[first] = work
  else members[first] = { ...members[first], [second]: work }
}

function hear(message: ToModule): void {
  if ('load' in message) void load(message.load).catch(end)
  else if ('call' in message) void call(message)
  else if ('cancel' in message) {
    calls.get(message.cancel)?.abort(new Error('the call has ended'))
    calls.delete(message.cancel)
  } else if ('answerTo' in message) {
    questions.get(message.answerTo)?.(message)
    questions.delete(message.answerTo)
  } else send({ pong: true })
}

new Worker(new URL('./watch.mjs', import.meta.url), { workerData: bundleName, execArgv: [] }).unref()
process.on('uncaughtException', end)
process.exit = (): never => {
  end(new Error('process.exit() was called'))
  throw new Error('process.exit() was called')
}

send({ pong: true })
for await (const message of channel.heard()) hear(message as ToModule)
// The daemon is gone.
exit()
