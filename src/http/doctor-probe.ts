/**
 * Shows how a request that `doctor` sends through the public address arrives here: what the proxies made of
 * its address, host and protocol, and whether they pass on a stream as it comes. Only a request that carries
 * a nonce made over the control socket gets this answer, once for each way, within a minute.
 */
import { setTimeout } from 'node:timers/promises'
import type { Context } from 'koa'
import type { Clock } from '#leaf/clock.ts'
import { randomId } from '#leaf/secrets.ts'

/** The header that carries the nonce. */
export const probeHeader = 'x-assistant-core-doctor'

const validMilliseconds = 60_000
const mostProbes = 10
/** The pause before the second piece of the stream, in which the first should have arrived. */
export const streamPauseMilliseconds = 1000

/** The request as it arrived. */
export interface Arrival {
  /** The peer of the connection; below it the address that counts, behind the trusted proxies. */
  readonly connection: string
  readonly address: string
  /** True when that peer is one of `server.trusted_proxies`. */
  readonly trusted: boolean
  readonly host: string
  readonly forwarded_for: string | null
  readonly forwarded_proto: string | null
}

/** Probes that are expected, and the requests that arrived for them. */
export class DoctorProbe {
  readonly #clock: Clock
  readonly #expected = new Map<string, { readonly until: number; arrival?: Arrival }>()

  constructor(deps: { clock: Clock }) {
    this.#clock = deps.clock
  }

  /** Returns a nonce for one probe. */
  expect(): string {
    const nonce = randomId()
    if (this.#expected.size >= mostProbes) this.#expected.delete(this.#expected.keys().next().value!)
    this.#expected.set(nonce, { until: this.#clock.now() + validMilliseconds })
    return nonce
  }

  /** Returns how the probe arrived; undefined when it has not. */
  arrival(nonce: string): Arrival | undefined {
    return this.#expected.get(nonce)?.arrival
  }

  /** Answers a request that is a probe with a stream of two pieces; returns false for every other request. */
  async answer(ctx: Context, trusted: boolean): Promise<boolean> {
    const expected = this.#expected.get(ctx.get(probeHeader))
    if (!expected || expected.arrival || expected.until < this.#clock.now()) return false
    expected.arrival = {
      connection: ctx.req.socket.remoteAddress ?? '',
      address: String(ctx.state['address']),
      trusted,
      host: ctx.get('Host'),
      forwarded_for: ctx.get('X-Forwarded-For') || null,
      forwarded_proto: ctx.get('X-Forwarded-Proto') || null,
    }
    ctx.respond = false
    ctx.res.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    ctx.res.write('data: first\n\n')
    await setTimeout(streamPauseMilliseconds)
    ctx.res.end('data: second\n\n')
    return true
  }
}
