/**
 * Both ends of a Unix domain socket over which commands ask a running program: a POST to `/<operation>` with `Question` as
 * its body is answered by lines of JSON. Where nobody listens, the operation runs here. Commands never know which of the
 * two it was.
 */
import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { userInfo } from 'node:os'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { eachLine } from '#leaf/each-line.ts'
import { AppError, messageOf, type AppErrorCode } from '#leaf/errors.ts'
import { http } from '#leaf/node-http.ts'

/** Who asks, and the end of the request. */
export interface Asking {
  /** The responsible person: at a command line, the name of the operating system's user. */
  readonly actor: string
  /** Aborted when the command line that asked goes away. */
  readonly signal: AbortSignal
}

/** A body. Nobody is authenticated here: whoever may open the socket is the operator, and states their name. */
type Question = Pick<Asking, 'actor'> & { readonly params: unknown }

/** A line of an answer: one `result`, or any number of `item`s, or an error, which may come after items. */
type Line =
  | { readonly result: unknown }
  | { readonly item: unknown }
  | { readonly error: Pick<AppError, 'message' | 'data'> & { readonly code: AppErrorCode | 'internal' } }

/** Runs an operation; an async iterable is sent item by item as it comes. AppError `not_found` for an unknown name. */
export type Run = (name: string, params: unknown, asking: Asking) => Promise<unknown>

/** The side of the program that listens. */
export interface Listening {
  readonly run: Run
  /** What a GET of a path is answered with, for collectors that can read a socket. */
  readonly pages: Readonly<Record<string, () => Promise<{ readonly type: string; readonly text: string }>>>
  /** Is told of a bug. */
  failed(error: unknown): void
}

/** The bytes of a path that Linux keeps of a socket. */
const longestPath = 107

/** Listens at a path in a folder that only the program's user may enter. A left-over socket there is removed. */
export async function listenAt(path: string, how: Listening): Promise<{ close: () => Promise<void> }> {
  // A longer one would be cut by the system, unseen.
  if (Buffer.byteLength(path) > longestPath)
    throw new AppError('invalid', `${path} is too long for a socket; give the state a shorter path`)
  rmSync(path, { force: true })
  const server = http.createServer((request, response) => void answer(how, request, response))
  // The folder is 0700, so the socket is never reachable with wider rights than its final ones.
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  chmodSync(path, 0o600)
  const close = async (): Promise<void> => {
    const closed = once(server.close(), 'close')
    // Followers of a stream never end by themselves.
    server.closeAllConnections()
    await closed
  }
  return { close }
}

async function answer(how: Listening, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const url = request.url ?? '/'
  if (request.method === 'GET' && Object.hasOwn(how.pages, url)) {
    const page = await how.pages[url]!()
    response.setHeader('content-type', page.type)
    return void response.end(page.text)
  }
  const send = async (line: Line): Promise<void> => {
    // A stream may be of any size: the reader sets the pace.
    if (!response.write(`${JSON.stringify(line)}\n`)) await once(response, 'drain', { signal: gone.signal })
  }
  response.setHeader('content-type', 'application/x-ndjson')
  try {
    const name = decodeURIComponent(url.slice(1))
    if (request.method !== 'POST') throw new AppError('not_found', `no operation "${name}"`)
    const { actor, params } = JSON.parse(await text(request)) as Question
    if (typeof actor !== 'string' || actor === '') throw new AppError('invalid', 'actor must say who asks')
    const result = await how.run(name, params, { actor, signal: gone.signal })
    if (isStream(result)) for await (const item of result) await send({ item })
    else await send({ result: result ?? null })
  } catch (error) {
    const isKnown = error instanceof AppError
    if (!isKnown && !gone.signal.aborted) how.failed(error)
    const { code, message, data } = isKnown
      ? error
      : { code: 'internal' as const, message: messageOf(error), data: undefined }
    // Part of the result may have been sent: then the error is one more line.
    if (!gone.signal.aborted) await send({ error: { code, message, data } }).catch(() => {})
  }
  response.end()
}

function isStream(result: unknown): result is AsyncIterable<unknown> {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}

/** Operations by name, of which the types of questions and answers are taken. */
type Table = Readonly<Record<string, { run(params: never, ...rest: never[]): Promise<unknown> }>>
/** The parameters of an operation. */
type Params<Each extends Table[string]> = Parameters<Each['run']>[0]
/** The answer of an operation. */
type Result<Each extends Table[string]> = Awaited<ReturnType<Each['run']>>
/** One item of an operation's stream. */
type Streamed<Each extends Table[string]> = Result<Each> extends AsyncIterable<infer One> ? One : never

/** Where operations run. */
export interface Place<Where> {
  /** The socket of the program that may run. */
  readonly socket: (where: Where) => string
  /** Opens what operations need here. AppError `conflict` with a `pid` in its data when a process holds it. */
  readonly open: (where: Where, name: string) => Promise<Opened>
}

interface Opened {
  readonly run: Run
  close(): Promise<void>
}

/** What is asked: one side answers all of it. */
interface Talk {
  opened?: Opened | undefined
  isAnswered?: boolean
}

/** Asks for one operation. */
type Ask<All extends Table> = <Name extends keyof All & string>(
  name: Name,
  params: Params<All[Name]>,
) => Promise<Result<All[Name]>>

/** Returns the functions that ask: of the program that listens, else of operations run here. */
export function askerOf<All extends Table, Where>(place: Place<Where>) {
  type Name = keyof All & string
  /** Runs an operation and yields its items as they come; an operation with a single result yields that. */
  async function* stream<Asked extends Name>(where: Where, name: Asked, params: Params<All[Asked]>) {
    const talk: Talk = {}
    try {
      yield* askIn<Where, Streamed<All[Asked]>>(talk, place, where, name, params)
    } finally {
      await talk.opened?.close()
    }
  }
  /** Runs an operation and returns its last item, which is the result of one with a single result. */
  const operate = <Asked extends Name>(where: Where, name: Asked, params: Params<All[Asked]>) =>
    lastOf<Result<All[Asked]>>(stream(where, name, params))
  /** Runs an operation in the running program only; undefined when none listens. */
  const askRunning = async <Asked extends Name>(where: Where, name: Asked, params: Params<All[Asked]>) => {
    const response = await post(place.socket(where), name, params)
    return response && (await lastOf<Result<All[Asked]>>(itemsOf(response)))
  }
  /** Runs what asks several times: all of the running program, or all here, which stays open meanwhile. */
  const converse = async <Done>(where: Where, work: (ask: Ask<All>) => Promise<Done>): Promise<Done> => {
    const talk: Talk = {}
    try {
      return await work((name, params) => lastOf<never>(askIn(talk, place, where, name, params)))
    } finally {
      await talk.opened?.close()
    }
  }
  return { stream, operate, askRunning, converse }
}

async function* askIn<Where, Item>(
  talk: Talk,
  { socket, open }: Place<Where>,
  where: Where,
  name: string,
  params: unknown,
): AsyncGenerator<Item> {
  for (let tries = 20; ; tries--) {
    const response = talk.opened ? undefined : await post(socket(where), name, params)
    if (!response && talk.isAnswered) throw new AppError('unavailable', 'the daemon stopped')
    talk.isAnswered = response !== undefined
    if (response) return yield* itemsOf<Item>(response)
    try {
      talk.opened ??= await open(where, name)
      return yield* runHere<Item>(talk.opened, name, params)
    } catch (error) {
      // A program locks what it needs before it listens, and another command soon releases it. Nothing was done yet.
      const { pid } = ((error as AppError).data ?? {}) as { readonly pid?: unknown }
      const isHeld = error instanceof AppError && error.code === 'conflict' && pid !== undefined
      if (!isHeld || tries === 0) throw error
      await talk.opened?.close()
      talk.opened = undefined
      await setTimeout(250)
    }
  }
}

async function lastOf<Value>(values: AsyncGenerator): Promise<Value> {
  let last: unknown
  for await (const value of values) last = value
  return last as Value
}

async function* runHere<Value>({ run }: Opened, name: string, params: unknown): AsyncGenerator<Value> {
  const { signal } = new AbortController()
  const result = await run(name, params, { actor: actor(), signal })
  yield* (isStream(result) ? result : [result ?? null]) as AsyncIterable<Value>
}

/** Sends a question; undefined when nobody listens. */
function post(socketPath: string, name: string, params: unknown): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const asking = http.request({ socketPath, path: `/${name}`, method: 'POST' }, resolve)
    asking.on('error', (error: NodeJS.ErrnoException) => {
      // No socket, the socket of a program that ended, or no folder for it yet: nobody listens.
      if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(error.code ?? '')) resolve(undefined)
      else if (error.code !== 'EACCES') reject(error)
      else reject(new AppError('forbidden', `no permission for ${socketPath}; run this as the daemon's user`))
    })
    asking.end(JSON.stringify({ actor: actor(), params } satisfies Question))
  })
}

/** Reads items without checking them: the answer to an operation is trusted to have its type. */
async function* itemsOf<Value>(response: IncomingMessage): AsyncGenerator<Value> {
  let ended = false
  try {
    for await (const line of eachLine(response)) {
      const told = JSON.parse(line) as Line
      if ('error' in told) {
        const { code, message, data } = told.error
        // A bug of the daemon counts as a bug here as well, and exits as one.
        throw code === 'internal' ? new Error(message) : new AppError(code, message, { data })
      }
      ended = 'result' in told
      yield ('result' in told ? told.result : told.item) as Value
    }
  } catch (error) {
    if (error !== response.errored) throw error
    // A stream may end without a result; a broken connection must not pass for its end.
    if (!ended) throw new AppError('unavailable', 'the daemon stopped before it answered', { cause: error })
  } finally {
    // A reader who stops early must end the program's work, and the closed connection must be no error here.
    response.on('error', () => undefined)
    response.destroy()
  }
}

function actor(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
