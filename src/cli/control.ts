/**
 * Runs an operation: in the daemon when one runs, else here, over the site and the locked state.
 * Commands never know which of the two it was (D11).
 */
import { request } from 'node:http'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import type { IncomingMessage } from 'node:http'
import type { Command } from './command.ts'
import type { Operations } from '../control/index.ts'
import { controlSocketName, type ControlLine } from '../control/protocol.ts'
import { AppError } from '../core/errors.ts'
import { readOptions, type Options } from './options.ts'
import { print } from './output.ts'

type Name = keyof Operations
/** What the operation of that name is given. */
export type Question<Asked extends Name> = Parameters<Operations[Asked]['run']>[0]
/** What the operation of that name answers. */
export type Answer<Asked extends Name> = Awaited<ReturnType<Operations[Asked]['run']>>
/** What a stream of items gives; nothing for an operation with one result. */
export type Item<Asked extends Name> = Answer<Asked> extends AsyncIterable<infer One> ? One : never

/** Asks, and prints the answer as JSON or as `text` says: what most commands do. */
export async function askAndPrint<Asked extends Name>(
  command: Command,
  name: Asked,
  params: Question<Asked>,
  text: (result: Answer<Asked>) => string,
): Promise<void> {
  const options = readOptions(command)
  print(options.json, await operate(options, name, params), text)
}

/** Runs an operation that has one result. */
export async function operate<Asked extends Name>(
  options: Options,
  name: Asked,
  params: Question<Asked>,
): Promise<Answer<Asked>> {
  return await lastOf(answered<Answer<Asked>>(answers(options, name, params)))
}

/** Runs an operation that answers item by item, and gives them as they come. */
export function stream<Asked extends Name>(
  options: Options,
  name: Asked,
  params: Question<Asked>,
): AsyncGenerator<Item<Asked>> {
  return answered(answers(options, name, params))
}

/** Asks the running daemon and nobody else; undefined when none listens. */
export async function askDaemon<Asked extends Name>(
  options: Options,
  name: Asked,
  params: Question<Asked>,
): Promise<Answer<Asked> | undefined> {
  const response = await post(options, name, params)
  return response && (await lastOf(answered<Answer<Asked>>(itemsOf(response))))
}

/** The one place that trusts the wire: what comes under the name of an operation is what that operation returns. */
function answered<Value>(values: AsyncGenerator): AsyncGenerator<Value> {
  return values as AsyncGenerator<Value>
}

async function lastOf<Value>(values: AsyncGenerator<Value>): Promise<Value> {
  let last: Value | undefined
  for await (const value of values) last = value
  return last!
}

/** Whatever an operation answers; one with a single result gives that. */
async function* answers(options: Options, name: Name, params: unknown): AsyncGenerator {
  for (let waited = 0; ; waited += retryMilliseconds) {
    const response = await post(options, name, params)
    if (response) return yield* itemsOf(response)
    try {
      return yield* runHere(options, name, params)
    } catch (error) {
      // A daemon holds its state before it listens, and another command lets go of it soon.
      if (!isHeld(error) || waited >= patienceMilliseconds) throw error
      await setTimeout(retryMilliseconds)
    }
  }
}

const retryMilliseconds = 250
const patienceMilliseconds = 5000

/** Whether somebody else has the state, so that nothing was done yet. */
function isHeld(error: unknown): boolean {
  return (
    error instanceof AppError &&
    error.code === 'conflict' &&
    (error.data as { pid?: unknown } | undefined)?.pid !== undefined
  )
}

/** Undefined when no daemon listens. */
function post(options: Options, name: string, params: unknown): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const socketPath = join(options.state, controlSocketName)
    const asking = request({ socketPath, path: `/${name}`, method: 'POST' }, resolve)
    asking.on('error', (error: NodeJS.ErrnoException) => {
      // No socket, a socket that a dead daemon left, or no state folder yet: nobody listens.
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED' || error.code === 'ENOTDIR')
        resolve(undefined)
      else if (error.code === 'EACCES')
        reject(new AppError('forbidden', `no permission for ${socketPath}; run this as the daemon's user`))
      else reject(error)
    })
    asking.end(JSON.stringify({ actor: actor(), params }))
  })
}

async function* itemsOf(response: IncomingMessage): AsyncGenerator {
  let ended = false
  try {
    for await (const text of createInterface({ input: response, crlfDelay: Infinity })) {
      const line = JSON.parse(text) as ControlLine
      if ('error' in line) {
        const { code, message, data } = line.error
        // A bug of the daemon's is one here as well, and exits as one.
        throw code === 'internal' ? new Error(message) : new AppError(code, message, { data })
      }
      ended = 'result' in line
      yield 'result' in line ? line.result : line.item
    }
    // A stream may end without a result; a connection that broke may not pass for its end.
    if (!ended && !response.complete)
      throw new AppError('unavailable', 'the daemon stopped before it answered')
  } finally {
    // Who has seen enough leaves: the daemon must not go on telling, nor its end be an error here.
    response.on('error', () => undefined)
    response.destroy()
  }
}

async function* runHere(options: Options, name: Name, params: unknown): AsyncGenerator {
  // Loaded when no daemon runs: a command that speaks to one should start at once.
  const [{ openServices }, { createLog }, { operations }, { commandLineOf, isStream, runOperation }] =
    await Promise.all([
      import('../build/services.ts'),
      import('../core/log.ts'),
      import('../control/index.ts'),
      import('../control/operation.ts'),
    ])
  const services = await openServices({
    ...options,
    log: createLog('error', process.stderr),
    // Opening everything tells much that belongs in a daemon's log, not on somebody's terminal.
    logLevel: 'error',
  })
  try {
    const result = await runOperation(operations[name], params, commandLineOf(actor()), {
      ...services,
      signal: new AbortController().signal,
      daemon: false,
    })
    if (isStream(result)) yield* result
    else yield result ?? null
  } finally {
    await services.close()
  }
}

function actor(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
