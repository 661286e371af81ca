/**
 * The way back to the client of one POST: a JSON answer, or an event stream as soon as something has to be
 * said before the answer (progress, log messages, questions). Nobody has to know beforehand which it will be.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerWhole } from '../core/whole-answer.ts'

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

/** One HTTP response that may become an event stream. */
export class Channel {
  readonly #res: ServerResponse
  readonly #accepts: boolean
  readonly #headers: Record<string, string>
  #keepAlive: NodeJS.Timeout | undefined
  #finished = false

  /** `headers` are those that go out with whatever is answered. */
  constructor(req: IncomingMessage, res: ServerResponse, headers: Record<string, string>) {
    this.#res = res
    this.#headers = headers
    this.#accepts = acceptsEvents(req.headers.accept)
  }

  /** Whether messages before the answer can reach the client. */
  get open(): boolean {
    return this.#accepts && !this.gone
  }

  /** Whether the whole answer was handed over. */
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

  /** Begins the event stream, so that the client knows that it is heard. */
  begin(): void {
    if (this.#keepAlive || this.gone) return
    this.#res.writeHead(200, { ...this.#headers, ...eventHeaders })
    this.#res.flushHeaders()
    this.#keepAlive = setInterval(() => this.#res.write(': keep-alive\n\n'), keepAliveMs).unref()
    this.#res.once('close', () => clearInterval(this.#keepAlive))
  }

  /** Calls back when the connection of this response is gone, whoever ended it. */
  onClose(callback: () => void): void {
    this.#res.once('close', callback)
  }

  send(message: Json): void {
    if (!this.open || this.#res.writableLength > maxWaiting) return
    this.begin()
    this.#res.write(event(JSON.stringify(message)))
  }

  /** Gives the answer, which is the last message of a stream if there is one. The status counts only without one. */
  finish(status: number, body: string | Buffer): void {
    if (this.gone) return
    this.#finished = true
    if (this.#keepAlive) {
      clearInterval(this.#keepAlive)
      this.#res.end(event(body.toString()))
      return
    }
    this.#headers['Content-Type'] = 'application/json'
    this.#headers['Cache-Control'] = 'no-store'
    answerWhole(this.#res, status, this.#headers, body)
  }

  /** Ends without a word: an accepted notification, or a stream whose client knows. */
  end(status: number): void {
    if (this.gone) return
    this.#finished = true
    clearInterval(this.#keepAlive)
    if (!this.#res.headersSent) this.#res.writeHead(status, { ...this.#headers, 'Content-Length': 0 })
    this.#res.end()
  }
}

/** One server-sent event; JSON has no line breaks of its own. */
function event(data: string): string {
  return `event: message\ndata: ${data}\n\n`
}

/** Whether an Accept header takes event streams; without one a client takes anything. */
function acceptsEvents(accept: string | undefined): boolean {
  return accept === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(accept)
}
