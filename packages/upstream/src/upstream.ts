/** A client of another MCP server, over HTTP or over the standard streams of a child process: only what tools need. */
import { isObject } from '#leaf/as-json.ts'
import { AppError } from '#leaf/errors.ts'
import { revision, type Texts, type Transport } from './messages.ts'
import { type HttpServer, overHttp } from './over-http.ts'
import { type ChildServer, overStreams } from './over-streams.ts'

/** A tool as the upstream lists it. */
export interface UpstreamTool {
  readonly name: string
  readonly title?: unknown
  readonly description?: unknown
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, unknown>>
}

/** The answer of an upstream's tool, not yet checked. */
export interface UpstreamResult {
  readonly content?: readonly unknown[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

const maxPages = 50
/** The most that a server may list in all its pages: no model reads as much. */
const mostListed = 1_000_000
const connectMilliseconds = 10_000

export interface UpstreamParts {
  readonly server: HttpServer | ChildServer
  /** Who we are, as servers are told. */
  readonly clientInfo: { readonly name: string; readonly version: string }
  /** Called when a child process ends without being closed. */
  readonly onEnd: (error: Error) => void
}

/** A connection to an upstream, made when it is first used, and again after a failure. */
export class Upstream {
  readonly #parts: UpstreamParts
  #ready: Promise<Transport['exchange']> | undefined
  #closeTransport = (): void => undefined
  #lastId = 0
  #underway = 0

  constructor(parts: UpstreamParts) {
    this.#parts = parts
  }

  /** True if there is a connection that has not failed. */
  get isThere(): boolean {
    return this.#ready !== undefined
  }

  async listTools(signal: AbortSignal): Promise<readonly UpstreamTool[]> {
    let tools: readonly UpstreamTool[] = []
    let cursor: string | undefined
    let length = 0
    for (let page = 0; page < maxPages; page++) {
      const answer = (await this.#call('tools/list', cursor === undefined ? {} : { cursor }, signal)) as {
        tools?: UpstreamTool[]
        nextCursor?: string
      }
      tools = tools.concat((answer.tools ?? []).filter(isObject))
      length += JSON.stringify(answer).length
      if (length > mostListed)
        throw new AppError(
          'unavailable',
          `the upstream server lists tools of more than ${mostListed} characters`,
        )
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
    let exchange: Transport['exchange']
    try {
      exchange = await this.#ready
    } catch (error) {
      this.#ready = undefined
      throw error
    }
    // Who left meanwhile asks nothing, and waits for nobody.
    signal.throwIfAborted()
    const asked: Transport['exchange'] = (message, signal) => exchange(message, signal, headers)
    return await this.#ask(asked, method, params, signal)
  }

  async #ask(
    exchange: Transport['exchange'],
    method: string,
    params: unknown,
    signal: AbortSignal,
  ): Promise<unknown> {
    this.#underway++
    let refusal: AppError | undefined
    try {
      const answer = await exchange({ jsonrpc: '2.0', id: ++this.#lastId, method, params }, signal)
      if (isObject(answer?.result)) return answer.result
      const said = isObject(answer?.error) ? answer.error['message'] : undefined
      const why = typeof said === 'string' ? said.slice(0, 500) : 'with nothing that MCP knows'
      refusal = new AppError('unavailable', `the upstream server refused: ${why}`)
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

  async #connect(signal: AbortSignal): Promise<Transport['exchange']> {
    const { server, clientInfo, onEnd } = this.#parts
    const transport: Transport =
      'url' in server
        ? overHttp(server)
        : await overStreams(server, (error) => {
            // Another connection may be open already.
            if (this.#closeTransport !== transport.close) return
            this.close()
            onEnd(error)
          })
    const { exchange } = transport
    this.#closeTransport = transport.close
    const hello = { protocolVersion: revision, capabilities: {}, clientInfo }
    await this.#ask(exchange, 'initialize', hello, signal)
    await exchange({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal)
    return exchange
  }
}
