/**
 * The response to one POST: a JSON answer, or an event stream as soon as a message goes out before the
 * answer (progress, log messages, questions). Nobody has to know beforehand which it will be.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WholeAnswers } from '#front/whole-answer.ts'

const keepAliveMs = 15_000
/** Bytes that may wait for a slow reader before notifications are dropped. */
const maxWaiting = 256 * 1024

type Json = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, string>>

const eventHeaders: Headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

/** What keeps the messages of a stream for a client that loses its connection. */
interface Keeper {
  /** The id of the event with which the stream begins. */
  readonly begun: string
  /** Adds a message; returns the id of its event. */
  add(data: string, isLast?: boolean): string
  /** The connection broke before the last message. */
  broke(): void
  /** There is no more to come. */
  end(): void
}

/** One HTTP response that may become an event stream. */
export class Channel {
  readonly #res: ServerResponse
  readonly #answers: WholeAnswers
  readonly #accepts: boolean
  readonly #headers: Record<string, string>
  #keepAlive: NodeJS.Timeout | undefined
  #finished = false
  #keeping: { readonly begin: () => Keeper; readonly primes: boolean } | undefined
  /** The stream of which this is the first connection, where clients may resume it. */
  #kept: Keeper | undefined

  /** `headers` go out with every answer. */
  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    headers: Record<string, string>,
    answers: WholeAnswers,
  ) {
    this.#res = res
    this.#answers = answers
    this.#headers = headers
    this.#accepts = acceptsEvents(req.headers.accept)
  }

  /** True when messages before the answer can reach the client. */
  get open(): boolean {
    return this.#accepts && !this.gone
  }

  /** True when the whole answer was handed over. */
  get finished(): boolean {
    return this.#finished
  }

  get gone(): boolean {
    return this.#finished || this.#res.destroyed
  }

  /** Adds a header to the answer. */
  header(name: string, value: string): void {
    this.#headers[name] = value
  }

  /** Keeps what is sent, if this becomes an event stream, for a client that loses the connection. */
  keep(begin: () => Keeper, primes: boolean): void {
    this.#keeping = { begin, primes }
  }

  /** Begins the event stream, so that the client knows that its request arrived. */
  begin(): void {
    if (this.#keepAlive || this.gone) return
    const kept = (this.#kept = this.#keeping?.begin())
    this.#res.writeHead(200, { ...this.#headers, ...eventHeaders })
    this.#res.flushHeaders()
    this.#keepAlive = setInterval(() => this.#res.write(': keep-alive\n\n'), keepAliveMs).unref()
    this.#res.once('close', () => {
      clearInterval(this.#keepAlive)
      if (!this.#finished) kept?.broke()
    })
    if (kept && this.#keeping?.primes) this.write('', kept.begun)
  }

  /** Writes an event with an id of its own to the stream; one that may be missed is, by a slow reader. */
  write(data: string, id: string, mayBeMissed = false): void {
    if (!this.gone && !(mayBeMissed && this.#res.writableLength > maxWaiting))
      this.#res.write(event(data, id))
  }

  /** Calls back when the connection of this response is gone, whoever ended it. */
  onClose(callback: () => void): void {
    this.#res.once('close', callback)
  }

  /** Sends a message, as an event of the id given or of its place in a stream that is kept. */
  send(message: Json, given?: string): void {
    if (this.open) this.begin()
    else if (!this.#kept) return
    const data = JSON.stringify(message)
    const id = this.#kept?.add(data) ?? given
    if (this.open && this.#res.writableLength <= maxWaiting) this.#res.write(event(data, id))
  }

  /** Sends the answer, as the last message of the stream if there is one. The status counts only without a stream. */
  finish(status: number, body: string | Buffer): void {
    if (this.#finished) return
    const id = this.#kept?.add(body.toString(), true)
    if (this.gone) return
    this.#finished = true
    if (this.#keepAlive) {
      clearInterval(this.#keepAlive)
      this.#res.end(event(body.toString(), id))
      return
    }
    this.#headers['Content-Type'] = 'application/json'
    this.#headers['Cache-Control'] = 'no-store'
    this.#answers.send(this.#res, status, this.#headers, body)
  }

  /** Ends without an answer: for an accepted notification, or a stream whose client knows the outcome. */
  end(status: number): void {
    this.#kept?.end()
    if (this.gone) return
    this.#finished = true
    clearInterval(this.#keepAlive)
    if (!this.#res.headersSent) this.#res.writeHead(status, { ...this.#headers, 'Content-Length': 0 })
    this.#res.end()
  }
}

/** Formats one server-sent event; JSON has no line breaks of its own. */
function event(data: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${data}\n\n`
}

/** True when an Accept header allows event streams; without one, a client takes anything. */
function acceptsEvents(accept: string | undefined): boolean {
  return accept === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(accept)
}
