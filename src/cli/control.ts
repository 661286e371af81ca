/**
 * Runs an operation: in the daemon if one runs, else in this process, on the site and the locked state.
 * Commands never know which of the two it was (D11).
 */
import type { IncomingMessage } from 'node:http'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { operations, type Operations } from '../control/index.ts'
import {
  controlSocketName,
  isStream,
  type Operation,
  runOperation,
  type ControlLine,
} from '../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import { http } from '#leaf/node-http.ts'
import type { Opening } from '../house/services.ts'
import type { Options } from './options.ts'

type Name = keyof Operations
/** The parameters of the operation of that name. */
export type Question<Asked extends Name> = Parameters<Operations[Asked]['run']>[0]
/** The answer of the operation of that name. */
export type Answer<Asked extends Name> = Awaited<ReturnType<Operations[Asked]['run']>>
/** One item of an operation's stream. */
export type Item<Asked extends Name> = Answer<Asked> extends AsyncIterable<infer One> ? One : never

/** Runs an operation and yields its items as they come; an operation with a single result yields that. */
export async function* stream<Asked extends Name>(
  options: Options,
  name: Asked,
  params: Question<Asked>,
): AsyncGenerator<Item<Asked>> {
  for (let tries = 20; ; tries--) {
    const response = await post(options, name, params)
    if (response) return yield* itemsOf<Item<Asked>>(response)
    try {
      return yield* runHere<Item<Asked>>(options, name, params)
    } catch (error) {
      // A daemon locks its state before it listens, and another command soon releases it. Nothing was done yet.
      const { pid } = ((error as AppError).data ?? {}) as { readonly pid?: unknown }
      const isHeld = error instanceof AppError && error.code === 'conflict' && pid !== undefined
      if (!isHeld || tries === 0) throw error
      await setTimeout(250)
    }
  }
}

/** Runs an operation and returns its last item, which is the result of one with a single result. */
export async function operate<Asked extends Name>(
  options: Options,
  name: Asked,
  params: Question<Asked>,
): Promise<Answer<Asked>> {
  return await lastOf<Answer<Asked>>(stream(options, name, params))
}

/** Runs an operation in the running daemon only; undefined when none listens. */
export async function askDaemon<Asked extends Name>(
  options: Options,
  name: Asked,
  params: Question<Asked>,
): Promise<Answer<Asked> | undefined> {
  const response = await post(options, name, params)
  return response && (await lastOf<Answer<Asked>>(itemsOf(response)))
}

async function lastOf<Value>(values: AsyncGenerator): Promise<Value> {
  let last: unknown
  for await (const value of values) last = value
  return last as Value
}

/** Sends a request to the daemon; undefined when none listens. */
function post(options: Options, name: string, params: unknown): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const socketPath = join(options.state, controlSocketName)
    const asking = http.request({ socketPath, path: `/${name}`, method: 'POST' }, resolve)
    asking.on('error', (error: NodeJS.ErrnoException) => {
      // No socket, the socket of a dead daemon, or no state folder yet: nobody listens.
      if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(error.code ?? '')) resolve(undefined)
      else if (error.code !== 'EACCES') reject(error)
      else reject(new AppError('forbidden', `no permission for ${socketPath}; run this as the daemon's user`))
    })
    asking.end(JSON.stringify({ actor: actor(), params }))
  })
}

/** Reads items without checking them: the answer to an operation is trusted to have its type. */
async function* itemsOf<Value>(response: IncomingMessage): AsyncGenerator<Value> {
  let ended = false
  try {
    for await (const text of createInterface({ input: response, crlfDelay: Infinity })) {
      const line = JSON.parse(text) as ControlLine
      if ('error' in line) {
        const { code, message, data } = line.error
        // A bug of the daemon counts as a bug here as well, and exits as one.
        throw code === 'internal' ? new Error(message) : new AppError(code, message, { data })
      }
      ended = 'result' in line
      yield ('result' in line ? line.result : line.item) as Value
    }
    // A stream may end without a result; a broken connection must not pass for its end.
    if (!ended && !response.complete)
      throw new AppError('unavailable', 'the daemon stopped before it answered')
  } finally {
    // A reader who stops early must end the daemon's work, and the closed connection must be no error here.
    response.on('error', () => undefined)
    response.destroy()
  }
}

/** Asks one operation after another: all of the daemon, or all in this process, which keeps the state meanwhile. */
export async function converse<R>(
  options: Options,
  work: (
    ask: <Asked extends Name>(name: Asked, params: Question<Asked>) => Promise<Answer<Asked>>,
  ) => Promise<R>,
): Promise<R> {
  let opening: Opening | undefined
  let isDaemon = false
  try {
    return await work(
      async <Asked extends Name>(name: Asked, params: Question<Asked>): Promise<Answer<Asked>> => {
        const response = opening ? undefined : await post(options, name, params)
        if (!response && isDaemon) throw new AppError('unavailable', 'the daemon stopped')
        isDaemon = response !== undefined
        if (response) return await lastOf<Answer<Asked>>(itemsOf(response))
        opening ??= await openHere(options)
        return await lastOf<Answer<Asked>>(runIn(opening, name, params))
      },
    )
  } finally {
    await opening?.close()
  }
}

async function openHere(options: Options, acceptsOlder = false): Promise<Opening> {
  // Loaded only when no daemon runs: a command that talks to one should start at once.
  const { Opening } = await import('../house/services.ts')
  const { createLog } = await import('#leaf/log.ts')
  return new Opening({
    ...options,
    log: createLog('error', process.stderr),
    // Opening everything logs much that belongs in a daemon's log, not on a terminal.
    logLevel: 'error',
    acceptsOlder,
  })
}

async function* runHere<Value>(options: Options, name: Name, params: unknown): AsyncGenerator<Value> {
  const opening = await openHere(options, name === 'audit.accept_loss')
  try {
    yield* runIn<Value>(opening, name, params)
  } finally {
    await opening.close()
  }
}

async function* runIn<Value>(opening: Opening, name: Name, params: unknown): AsyncGenerator<Value> {
  const { signal } = new AbortController()
  const operation: Operation = operations[name]
  const services = await opening.take([...operation.needs, 'audit'])
  const result = await runOperation(operation, params, services, { actor: actor(), signal })
  yield* (isStream(result) ? result : [result ?? null]) as AsyncIterable<Value>
}

function actor(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
