import { setTimeout } from 'node:timers/promises'
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'

const queueLines = 10_000
const batchLines = 100
const firstPause = 1_000
const longestPause = 60_000
const closeMilliseconds = 2_000

/** A destination of log lines besides the log. */
export interface Sink {
  /** The name for people: `syslog udp://…`. */
  readonly name: string
  /** Settles when the lines are delivered; rejects when all of them must be sent again. */
  send(lines: readonly string[], signal: AbortSignal): Promise<void>
  close(): void
}

/** The state of a sink. */
export interface ForwardStats {
  readonly name: string
  readonly waiting: number
  readonly sent: number
  /** The number of lines not sent because the sink was away for too long; they are in the log. */
  readonly dropped: number
  readonly fault?: string
}

/**
 * Delivers lines to a sink in order, with retries until it takes them. Keeps a bounded number of lines
 * meanwhile; never holds up the log, and never throws.
 */
export class Forwarder {
  readonly #sink: Sink
  readonly #log: Log
  readonly #stop = new AbortController()
  #queue: string[] = []
  #sent = 0
  #dropped = 0
  #fault: string | undefined
  #running: Promise<void> | undefined

  constructor(sink: Sink, log: Log) {
    this.#sink = sink
    this.#log = log
  }

  offer(lines: readonly string[]): void {
    if (this.#stop.signal.aborted) return
    this.#queue.push(...lines)
    const excess = this.#queue.length - queueLines
    if (excess > 0) {
      this.#queue.splice(0, excess)
      this.#dropped += excess
    }
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  stats(): ForwardStats {
    return {
      name: this.#sink.name,
      waiting: this.#queue.length,
      sent: this.#sent,
      dropped: this.#dropped,
      ...(this.#fault !== undefined && { fault: this.#fault }),
    }
  }

  /** Sends what is queued if that is quick, and gives up otherwise. */
  async close(): Promise<void> {
    const patience = globalThis.setTimeout(
      () => this.#stop.abort(),
      this.#fault === undefined ? closeMilliseconds : 0,
    )
    await this.#running
    clearTimeout(patience)
    this.#stop.abort()
    this.#sink.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    let pause = firstPause
    while (this.#queue.length > 0 && !signal.aborted) {
      const batch = this.#queue.slice(0, batchLines)
      const dropped = this.#dropped
      try {
        await this.#sink.send(batch, signal)
        // Lines dropped meanwhile were dropped from the front.
        this.#queue.splice(0, Math.max(0, batch.length - (this.#dropped - dropped)))
        this.#sent += batch.length
        if (this.#fault !== undefined)
          this.#log.info('audit events are forwarded again', { to: this.#sink.name })
        this.#fault = undefined
        pause = firstPause
      } catch (error) {
        if (signal.aborted) return
        if (this.#fault === undefined) {
          this.#log.warn('audit events cannot be forwarded; they are in the log', {
            to: this.#sink.name,
            error,
          })
        }
        this.#fault = messageOf(error)
        await setTimeout(pause, undefined, { signal, ref: false }).catch(() => undefined)
        pause = Math.min(pause * 2, longestPause)
      }
    }
  }
}
