/** A request and its answer, as far as the guards in front of an endpoint see them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Soon } from '#leaf/soon.ts'
import type { WholeAnswers } from './whole-answer.ts'

/** The request and answer that guards work on: a Koa context is one, and so is the bare exchange of the busiest path. */
export interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  readonly path: string
  /** The findings of earlier guards. */
  readonly state: Record<string, unknown>
  /** Returns a header of the request; empty when there is none. */
  get(name: string): string
  /** Sets a header of the answer. */
  set(name: string, value: string): void
  remove(name: string): void
  readonly response: { readonly headers: object }
  status: number
  type: string
  body: unknown
}

/** A step in front of an endpoint: it answers, or calls the next one. */
export type Guard = (exchange: Exchange, next: () => Soon<unknown>) => Soon<unknown>

/** A function that answers, with or without Koa around it. */
export type Endpoint = (exchange: Exchange) => Soon<unknown>

/** An exchange without Koa, whose context and stream handling cost as much as all of our guards together. */
export class BareExchange implements Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  readonly path: string
  readonly querystring: string
  readonly state: Record<string, unknown> = {}
  /** The headers of the answer: Node writes headers given all at once three times as fast as those set one by one. */
  readonly headers: Record<string, string> = {}
  status = 404
  type = ''
  body: unknown
  readonly #answers: WholeAnswers

  constructor(req: IncomingMessage, res: ServerResponse, answers: WholeAnswers) {
    this.#answers = answers
    this.req = req
    this.res = res
    this.method = req.method ?? ''
    const { url = '' } = req
    const end = url.indexOf('?')
    this.path = end < 0 ? url : url.slice(0, end)
    this.querystring = end < 0 ? '' : url.slice(end + 1)
  }

  get(name: string): string {
    const value = this.req.headers[name.toLowerCase()]
    return typeof value === 'string' ? value : ''
  }

  set(name: string, value: string): void {
    this.headers[name] = value
  }

  remove(name: string): void {
    Reflect.deleteProperty(this.headers, name)
  }

  get response(): { readonly headers: object } {
    return this
  }

  /** Sends the answer that a guard set; nothing when the endpoint wrote its answer itself. */
  flush(): void {
    const { res, body, type } = this
    if (
      res.headersSent ||
      res.destroyed ||
      !(typeof body === 'string' || Buffer.isBuffer(body) || body === null)
    )
      return
    if (type !== '') this.headers['Content-Type'] = type
    this.#answers.send(res, this.status, this.headers, body ?? '')
  }
}
