/** The last authorization attempts, each with the step at which it died, for `oauth trace`. Holds no secret. */
import { isoTime, type Clock } from '#leaf/clock.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { Store } from '#state/store.ts'
import { announce, hear } from '../core/announcements.ts'
import type { Params } from '#ui/requests.ts'

/** An attempt to connect. */
export interface Attempt {
  readonly id: string
  readonly started: string
  readonly updated: string
  readonly client: string
  readonly client_name?: string
  readonly redirect_host?: string
  /** The result of fetching the document that describes the client. */
  readonly client_document?: string
  readonly user?: string
  readonly steps: readonly string[]
  /** The step that failed and why; absent while it goes well. */
  readonly died_at?: string
  readonly reason?: string
}

type Step = readonly [at: number, step: string]
type Facts = Partial<Pick<Attempt, 'client_name' | 'redirect_host' | 'client_document' | 'user'>>

/**
 * An attempt as it is kept. All times are in milliseconds; the times of its steps put in order what several daemons saw.
 * It is changed in place, five times for each attempt that goes well.
 */
interface Seen extends Facts {
  readonly id: string
  readonly started: number
  updated: number
  readonly client: string
  steps: Step[]
  died?: { readonly at: string; readonly reason: string } | undefined
}

const kept = 200
const maxSteps = 20
const mostOrigins = 50
/** The client of an attempt of which only later steps are known yet. */
const elsewhere = '(elsewhere)'
/** Milliseconds for which announcements, of one request or many, are gathered to be sent together. */
const gathering = 100

/**
 * Keeps attempts in memory: they explain the last hour, not the last year. The steps of one may come to several daemons on
 * one database; each tells the others what it saw, so that any of them knows all.
 */
export class Trace {
  readonly #clock: Clock
  readonly #shared: Store | undefined
  readonly #untold = new Set<string>()
  readonly #attempts = new Map<string, Seen>()
  readonly #origins = new Set<string>()

  constructor({ clock, store }: { clock: Clock; store: Store }) {
    this.#clock = clock
    this.#shared = store.stats().kind === 'postgres' ? store : undefined
    if (this.#shared) hear(this.#shared, 'attempt', (text) => this.#hear(JSON.parse(text) as Seen))
  }

  /** Begins or continues an attempt; the id is the same for all its requests. */
  begin(params: Params): string {
    const parts = ['client_id', 'redirect_uri', 'state', 'code_challenge', 'nonce'].map((name) =>
      params.get(name),
    )
    const id = sha256(JSON.stringify(parts)).slice(0, 16)
    if (!this.#attempts.has(id))
      this.#keep(this.#new(id, (params.get('client_id') ?? '(none)').slice(0, 200)))
    return id
  }

  /** Adds the facts known by now. */
  about(id: string, facts: Facts): void {
    this.#change(id, (attempt) => Object.assign(attempt, facts))
  }

  /** Remembers an origin whose pages a browser had to refuse; true for the first time. */
  refuseOrigin(origin: string, reason: string): boolean {
    const id = sha256(origin).slice(0, 16)
    // Anybody can send any origin, so origins must not crowd out what else is kept.
    if (this.#origins.has(origin) || this.#origins.size >= mostOrigins) return false
    this.#origins.add(origin)
    this.#keep({ ...this.#new(id, origin), died: { at: 'web page', reason } })
    return true
  }

  /** Notes that a step was reached. */
  step(id: string, step: string): void {
    this.#change(id, (attempt, now) => {
      attempt.died = undefined
      const { steps } = attempt
      const last = steps.at(-1)
      // Almost always the newest of few.
      if (last && last[0] <= now && steps.length < maxSteps) {
        if (last[1] !== step) steps.push([now, step])
      } else attempt.steps = inOrder([...steps, [now, step]])
    })
  }

  /** Notes that a step failed. */
  fail(id: string, step: string, reason: string): void {
    this.#change(id, (attempt) => (attempt.died = { at: step, reason: reason.slice(0, 600) }))
  }

  #new(id: string, client: string): Seen {
    const now = this.#clock.now()
    return { id, started: now, updated: now, client, steps: [] }
  }

  #keep(attempt: Seen): void {
    this.#put(attempt)
    this.#tell(attempt.id)
  }

  /** Keeps an attempt; the oldest goes when there are too many. */
  #put(attempt: Seen): void {
    if (!this.#attempts.has(attempt.id) && this.#attempts.size >= kept)
      this.#attempts.delete(this.#attempts.keys().next().value!)
    this.#attempts.set(attempt.id, attempt)
  }

  #change(id: string, change: (attempt: Seen, now: number) => unknown): void {
    // An unknown attempt began at another daemon, which has not told of it yet.
    const attempt = this.#attempts.get(id) ?? (this.#shared && this.#new(id, elsewhere))
    if (!attempt) return
    attempt.updated = this.#clock.now()
    change(attempt, attempt.updated)
    this.#keep(attempt)
  }

  #tell(id: string): void {
    const store = this.#shared
    if (!store) return
    if (this.#untold.size === 0) setTimeout(() => void this.#announce(store), gathering).unref()
    this.#untold.add(id)
  }

  async #announce(store: Store): Promise<void> {
    const attempts = [...this.#untold].flatMap((id) => this.#attempts.get(id) ?? [])
    this.#untold.clear()
    await store
      .transaction(async (transaction) => {
        for (const attempt of attempts) announce(transaction, 'attempt', JSON.stringify(attempt))
      })
      // Nothing depends on it.
      .catch(() => undefined)
  }

  /** Takes up the steps that another daemon, or this one itself, announced. */
  #hear(heard: Seen): void {
    const known = this.#attempts.get(heard.id)
    this.#put(known ? joined(known, heard) : heard)
  }

  /** Returns the newest attempts first. */
  last(count: number): readonly Attempt[] {
    return [...this.#attempts.values()].reverse().slice(0, count).map(told)
  }
}

/** Returns an attempt as `oauth trace` shows it. */
function told({ died, started, updated, steps, ...facts }: Seen): Attempt {
  return {
    ...facts,
    started: isoTime(started),
    updated: isoTime(updated),
    steps: steps.map(([, step]) => step),
    ...(died && { died_at: died.at, reason: died.reason }),
  }
}

/** Sorts the steps by time; a step repeated at once is kept once. */
function inOrder(all: readonly Step[]): Step[] {
  const sorted = all.toSorted(([one], [other]) => one - other)
  return sorted.filter(([, step], index) => step !== sorted[index - 1]?.[1]).slice(-maxSteps)
}

/** Joins what two daemons know of one attempt. */
function joined(one: Seen, other: Seen): Seen {
  const [first, second] = one.started <= other.started ? [one, other] : [other, one]
  const [older, newer] = one.updated <= other.updated ? [one, other] : [other, one]
  const more = other.steps.filter(([at, step]) => !one.steps.some((it) => it[0] === at && it[1] === step))
  return {
    ...older,
    ...newer,
    client: first.client === elsewhere ? second.client : first.client,
    started: first.started,
    steps: inOrder([...one.steps, ...more]),
    // An attempt that goes on died nowhere.
    died: newer.died,
  }
}
