/** The last authorization attempts and the step at which each one died, for `oauth trace`. Holds no secret. */
import { isoTime, type Clock } from '../core/clock.ts'
import { sha256 } from '../core/secrets.ts'
import type { Params } from './protocol.ts'

/** One attempt to connect. */
export interface Attempt {
  readonly id: string
  readonly started: string
  readonly updated: string
  readonly client: string
  readonly client_name?: string
  readonly redirect_host?: string
  /** What became of the document that describes the client. */
  readonly client_document?: string
  readonly user?: string
  readonly steps: readonly string[]
  /** The step that failed and why; absent while it goes well. */
  readonly died_at?: string
  readonly reason?: string
}

const kept = 200
const maxSteps = 20
const mostOrigins = 50

/** Attempts in memory: they explain the last hour, not the last year. */
export class Trace {
  readonly #clock: Clock
  readonly #attempts = new Map<string, Attempt>()
  readonly #origins = new Set<string>()

  constructor(deps: { clock: Clock }) {
    this.#clock = deps.clock
  }

  /** The id of the attempt that a request belongs to: the same for all requests of one attempt. */
  idOf(params: Params): string {
    const parts = ['client_id', 'redirect_uri', 'state', 'code_challenge', 'nonce'].map((name) =>
      params.get(name),
    )
    return sha256(JSON.stringify(parts)).slice(0, 16)
  }

  /** Begins an attempt, or goes on with it. */
  begin(params: Params): string {
    const id = this.idOf(params)
    if (!this.#attempts.has(id)) {
      const started = isoTime(this.#clock.now())
      const client = (params.get('client_id') ?? '(none)').slice(0, 200)
      this.#keep({ id, started, updated: started, client, steps: [] })
    }
    return id
  }

  /** Adds what is known by now. */
  about(
    id: string,
    facts: Partial<Pick<Attempt, 'client_name' | 'redirect_host' | 'client_document' | 'user'>>,
  ): void {
    this.#change(id, (attempt) => ({ ...attempt, ...facts }))
  }

  /** Keeps pages of an origin in mind that a browser had to refuse; true for the first time. */
  refuseOrigin(origin: string, reason: string): boolean {
    const id = sha256(origin).slice(0, 16)
    // Anybody can send any origin: they must not crowd out what else is kept.
    if (this.#origins.has(origin) || this.#origins.size >= mostOrigins) return false
    this.#origins.add(origin)
    const started = isoTime(this.#clock.now())
    this.#keep({ id, started, updated: started, client: origin, steps: [], died_at: 'web page', reason })
    return true
  }

  /** A step was reached. */
  step(id: string, step: string): void {
    this.#change(id, ({ died_at: _step, reason: _why, ...attempt }) => ({
      ...attempt,
      steps: attempt.steps.at(-1) === step ? attempt.steps : [...attempt.steps, step].slice(-maxSteps),
    }))
  }

  /** A step failed. */
  fail(id: string, step: string, reason: string): void {
    this.#change(id, (attempt) => ({ ...attempt, died_at: step, reason: reason.slice(0, 600) }))
  }

  #keep(attempt: Attempt): void {
    if (this.#attempts.size >= kept) this.#attempts.delete(this.#attempts.keys().next().value!)
    this.#attempts.set(attempt.id, attempt)
  }

  #change(id: string, change: (attempt: Attempt) => Attempt): void {
    const attempt = this.#attempts.get(id)
    if (attempt) this.#attempts.set(id, { ...change(attempt), updated: isoTime(this.#clock.now()) })
  }

  /** The newest attempts first. */
  last(count: number): readonly Attempt[] {
    return [...this.#attempts.values()].reverse().slice(0, count)
  }
}
