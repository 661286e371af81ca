/** A client of another MCP server, over HTTP or over the standard streams of a child process: only what tools need. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { AppError } from '#leaf/errors.ts'
import type { SecretPath } from '#leaf/secret-files.ts'
import { version } from '../../core/version.ts'
import type { Content } from '../tool.ts'
import type { UpstreamDefinition } from './own-schema.ts'
import { send } from '#outside/request.ts'
import { withSecrets } from './templates.ts'

/** A tool as the upstream lists it. */
export interface UpstreamTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, unknown>>
}

/** The answer of an upstream's tool, not yet checked: own-tools.ts passes it on. */
export interface UpstreamResult {
  readonly content?: readonly Content[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

type Texts = Readonly<Record<string, string>>

/** Sends one JSON-RPC message and returns the response to it; nothing for a notification. */
type Exchange = (message: Message, signal: AbortSignal, headers?: Texts) => Promise<Message | undefined>

interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** The protocol revision for upstreams, which this service itself prefers. The other two bound an answer of theirs. */
const revision = '2025-06-18'
const maxBytes = 10_000_000
const maxPages = 50
const connectMilliseconds = 10_000

/** A connection to an upstream, made when it is first used, and again after a failure. */
export class Upstream {
  readonly #of: {
    readonly definition: UpstreamDefinition
    readonly folder: string
    readonly secretPath: SecretPath
    readonly onEnd: (error: Error) => void
  }
  #ready: Promise<Exchange> | undefined
  #closeTransport = (): void => undefined
  #lastId = 0
  #underway = 0

  /** `onEnd` is called when a child process ends without being closed. */
  constructor(
    definition: UpstreamDefinition,
    folder: string,
    secretPath: SecretPath,
    onEnd: (error: Error) => void = () => undefined,
  ) {
    this.#of = { definition, folder, secretPath, onEnd }
  }

  /** True if there is a connection that has not failed. */
  get isThere(): boolean {
    return this.#ready !== undefined
  }

  async listTools(signal: AbortSignal): Promise<readonly UpstreamTool[]> {
    const tools: UpstreamTool[] = []
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page++) {
      const answer = (await this.#call('tools/list', cursor === undefined ? {} : { cursor }, signal)) as {
        tools?: UpstreamTool[]
        nextCursor?: string
      }
      tools.push(...(answer.tools ?? []))
      cursor = answer.nextCursor
      if (cursor === undefined) break
    }
    return tools
  }

  /** `meta` and, over HTTP, `headers` carry facts about the call besides its arguments. */
  async callTool(
    name: string,
    args: unknown,
    signal: AbortSignal,
    { meta, headers }: { readonly meta: Texts; readonly headers: Texts },
  ): Promise<UpstreamResult> {
    const params = { name, arguments: args, ...(Object.keys(meta).length > 0 && { _meta: meta }) }
    return (await this.#call('tools/call', params, signal, headers)) as UpstreamResult
  }

  close(): void {
    this.#ready = undefined
    this.#closeTransport()
    this.#closeTransport = () => undefined
  }

  async #call(method: string, params: unknown, signal: AbortSignal, headers?: Texts): Promise<unknown> {
    // Shared by calls that come meanwhile; a failure is forgotten, so that the next call tries again.
    // Not stopped by the signal of the first caller: the others wait for it too.
    this.#ready ??= this.#connect(AbortSignal.timeout(connectMilliseconds))
    let exchange: Exchange
    try {
      exchange = await this.#ready
    } catch (error) {
      this.#ready = undefined
      throw error
    }
    const asked: Exchange = (message, signal) => exchange(message, signal, headers)
    return await this.#ask(asked, method, params, signal)
  }

  async #ask(exchange: Exchange, method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    this.#underway++
    let refusal: AppError | undefined
    try {
      const answer = await exchange({ jsonrpc: '2.0', id: ++this.#lastId, method, params }, signal)
      if (!answer?.error) return answer?.result
      const said = answer.error.message.slice(0, 500)
      refusal = new AppError('unavailable', `the upstream server refused: ${said}`)
      throw refusal
    } catch (error) {
      // A broken connection is made anew by the next call. It stays after a refusal, and when a caller leaves while
      // others have calls on it. If the last caller waited in vain, it may be stuck.
      if (!refusal && !(signal.aborted && this.#underway > 1)) this.close()
      throw error
    } finally {
      this.#underway--
    }
  }

  async #connect(signal: AbortSignal): Promise<Exchange> {
    const { definition, folder, secretPath, onEnd } = this.#of
    const transport = definition.command
      ? await overStreams(definition, secretPath, folder, (error) => {
          // Another connection may be open already.
          if (this.#closeTransport !== transport.close) return
          this.close()
          onEnd(error)
        })
      : overHttp(definition, secretPath)
    const { exchange } = transport
    this.#closeTransport = transport.close
    const clientInfo = { name: 'assistant-core', version }
    const hello = { protocolVersion: revision, capabilities: {}, clientInfo }
    await this.#ask(exchange, 'initialize', hello, signal)
    await exchange({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal)
    return exchange
  }
}

interface Transport {
  readonly exchange: Exchange
  readonly close: () => void
}

function overHttp(definition: UpstreamDefinition, secretPath: SecretPath): Transport {
  let session: string | undefined
  const exchange: Exchange = async (message, signal, headers) => {
    const answer = await send({
      method: 'POST',
      url: new URL(definition.url!),
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': revision,
        ...(session !== undefined && { 'mcp-session-id': session }),
        ...(await withSecrets(definition.headers ?? {}, secretPath)),
        ...headers,
      },
      body: JSON.stringify(message),
      allowPrivate: definition.allow_private ?? false,
      maxBytes,
      signal,
    })
    const given = answer.headers['mcp-session-id']
    if (typeof given === 'string') session = given
    if (message.id === undefined) return undefined
    if (answer.status !== 200)
      throw new AppError('unavailable', `the upstream server answered ${answer.status}`)
    return responseIn(answer.text, answer.headers['content-type'] ?? '', message.id)
  }
  return { exchange, close: () => void (session = undefined) }
}

/** Finds the response with the id, in a JSON body or among the events of a stream. */
function responseIn(text: string, type: string, id: number): Message {
  const texts = type.startsWith('text/event-stream')
    ? text.split(/\r?\n\r?\n/).map((event) =>
        event
          .split(/\r?\n/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n'),
      )
    : [text]
  for (const candidate of texts) {
    if (candidate === '') continue
    try {
      const message = JSON.parse(candidate) as Message
      if (message.id === id && message.method === undefined) return message
    } catch {
      // This is no message; another event may be the response.
    }
  }
  throw new AppError('unavailable', 'the upstream server did not answer')
}

async function overStreams(
  definition: UpstreamDefinition,
  secretPath: SecretPath,
  folder: string,
  onEnd: (error: Error) => void,
): Promise<Transport> {
  const own = await withSecrets(definition.env ?? {}, secretPath)
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', ...own }
  const [command, ...args] = definition.command!
  // The daemon's own environment is not passed on: it may hold credentials.
  const child = spawn(command!, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting: Waiting = new Map()
  let ended: AppError | undefined
  const end = (cause?: unknown): void => {
    ended ??= new AppError('unavailable', 'the upstream server has ended', { cause })
    for (const { reject } of waiting.values()) reject(ended)
    waiting.clear()
  }
  child.on('error', end)
  child.on('exit', (code, signal) => {
    end(new Error(signal ?? `exit ${code}`))
    onEnd(ended!)
  })
  child.stdin.on('error', end)
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = parsed(line)
    // Requests and notifications of the upstream are not answered: it was offered no capabilities.
    if (message?.id === undefined || message.method !== undefined) return
    waiting.get(message.id)?.resolve(message)
    waiting.delete(message.id)
  })
  return {
    exchange: (message, signal) => (ended ? Promise.reject(ended) : written(child, waiting, message, signal)),
    close: () => {
      // Killing what never started would be kill(0, SIGTERM): the daemon, and all of its process group.
      if (child.pid !== undefined) child.kill()
    },
  }
}

type Waiting = Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>

function written(
  child: ChildProcess,
  waiting: Waiting,
  message: Message,
  signal: AbortSignal,
): Promise<Message | undefined> {
  child.stdin!.write(`${JSON.stringify(message)}\n`)
  const { id } = message
  if (id === undefined) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      waiting.delete(id)
      child.stdin!.write(
        `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })}\n`,
      )
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', stop, { once: true })
    const done = () => signal.removeEventListener('abort', stop)
    waiting.set(id, {
      resolve: (answer) => (done(), resolve(answer)),
      reject: (error) => (done(), reject(error)),
    })
  })
}

function parsed(line: string): Message | undefined {
  try {
    return JSON.parse(line) as Message
  } catch {
    return undefined
  }
}
