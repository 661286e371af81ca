/** A client of another MCP server, over HTTP or over the standard streams of a child process: only what tools need. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { AppError } from '../../core/errors.ts'
import type { Content } from '../tool.ts'
import type { UpstreamDefinition } from './own-schema.ts'
import { send } from './request.ts'
import { withSecrets } from './templates.ts'

/** A tool as the upstream lists it. */
export interface UpstreamTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, unknown>>
}

/** What an upstream's tool answered, not yet checked: own-tools.ts passes it on. */
export interface UpstreamResult {
  readonly content?: readonly Content[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

type Meta = Readonly<Record<string, string>>

/** Sends one JSON-RPC message and answers the response to it; nothing for a notification. */
type Exchange = (message: Message, signal: AbortSignal) => Promise<Message | undefined>

interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** Spoken to upstreams: the revision that this service prefers itself. The other two bound what one may answer. */
const revision = '2025-06-18'
const maxBytes = 10_000_000
const maxPages = 50
const connectMilliseconds = 10_000

/** A connection to an upstream, made when it is first used, and again after a failure. */
export class Upstream {
  readonly #of: { readonly definition: UpstreamDefinition; readonly folder: string; readonly version: string }
  #ready: Promise<Exchange> | undefined
  #closeTransport = (): void => undefined
  #lastId = 0
  #underway = 0

  constructor(definition: UpstreamDefinition, folder: string, version: string) {
    this.#of = { definition, folder, version }
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

  /** `meta` is what is said about the call besides its arguments. */
  async callTool(name: string, args: unknown, signal: AbortSignal, meta: Meta): Promise<UpstreamResult> {
    const params = { name, arguments: args, ...(Object.keys(meta).length > 0 && { _meta: meta }) }
    return (await this.#call('tools/call', params, signal)) as UpstreamResult
  }

  close(): void {
    this.#ready = undefined
    this.#closeTransport()
    this.#closeTransport = () => undefined
  }

  async #call(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    // Shared by calls that come meanwhile; a failure is forgotten, so that the next call tries again.
    // Not by the signal of the caller who happened to be first: the others wait for it too.
    this.#ready ??= this.#connect(AbortSignal.timeout(connectMilliseconds))
    let exchange: Exchange
    try {
      exchange = await this.#ready
    } catch (error) {
      this.#ready = undefined
      throw error
    }
    return await this.#ask(exchange, method, params, signal)
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
      // A broken connection is made anew by the next call; a refusal leaves it as it is, and so does a caller who
      // left: others have calls on it. When the last one waited in vain, it may be stuck.
      if (!refusal && !(signal.aborted && this.#underway > 1)) this.close()
      throw error
    } finally {
      this.#underway--
    }
  }

  async #connect(signal: AbortSignal): Promise<Exchange> {
    const { definition, folder, version } = this.#of
    const { exchange, close } = await (definition.command ? overStreams : overHttp)(definition, folder)
    this.#closeTransport = close
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

function overHttp(definition: UpstreamDefinition, folder: string): Transport {
  let session: string | undefined
  const exchange: Exchange = async (message, signal) => {
    const answer = await send({
      method: 'POST',
      url: new URL(definition.url!),
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': revision,
        ...(session !== undefined && { 'mcp-session-id': session }),
        ...(await withSecrets(definition.headers ?? {}, folder)),
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

/** The response with the id, in a JSON body or among the events of a stream. */
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
      // Not a message; another event may be the response.
    }
  }
  throw new AppError('unavailable', 'the upstream server did not answer')
}

async function overStreams(definition: UpstreamDefinition, folder: string): Promise<Transport> {
  const own = await withSecrets(definition.env ?? {}, folder)
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', ...own }
  const [command, ...args] = definition.command!
  // Nothing of the daemon's own environment: it may hold credentials.
  const child = spawn(command!, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>()
  const end = (): void => {
    for (const { reject } of waiting.values())
      reject(new AppError('unavailable', 'the upstream server has ended'))
    waiting.clear()
  }
  child.on('error', end)
  child.on('exit', end)
  child.stdin.on('error', end)
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = parsed(line)
    // Requests and notifications of the upstream are not answered: it was offered no capabilities.
    if (message?.id === undefined || message.method !== undefined) return
    waiting.get(message.id)?.resolve(message)
    waiting.delete(message.id)
  })
  return {
    exchange: (message, signal) => written(child, waiting, message, signal),
    close: () => {
      // Killing what never started would be kill(0, SIGTERM): the daemon, and all of its process group.
      if (child.pid !== undefined) child.kill()
    },
  }
}

function written(
  child: ChildProcess,
  waiting: Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>,
  message: Message,
  signal: AbortSignal,
): Promise<Message | undefined> {
  if (child.exitCode !== null || child.pid === undefined)
    return Promise.reject(new AppError('unavailable', 'the upstream server has ended'))
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
