/** The last authorization attempts and the step at which each one died, for `oauth trace`. Holds no secret. */
import { isoTime, type Clock } from '../core/clock.ts'
import { sha256 } from '../core/secrets.ts'
import type { Store } from '../store/store.ts'
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

type Step = readonly [at: number, step: string]
type Facts = Partial<Pick<Attempt, 'client_name' | 'redirect_host' | 'client_document' | 'user'>>

/**
 * An attempt as it is kept, all times in milliseconds, with that of each step: what several daemons saw is put in order
 * by it. It is changed in place, five times for each that goes well.
 */
interface Seen extends Facts {
  readonly id: string
  readonly started: number
  updated: number
  readonly client: string
  steps: readonly Step[]
  died?: { readonly at: string; readonly reason: string } | undefined
}

const kept = 200
const maxSteps = 20
const mostOrigins = 50
/** What is announced to other daemons begins so. */
const topic = 'attempt '
/** The client of an attempt of which only later steps are known yet. */
const elsewhere = '(elsewhere)'
/** An announcement may have 8,000 bytes. */
const mostBytes = 7000
/** What comes of one request, and of many, is told in one go. */
const gathering = 100

/**
 * Attempts in memory: they explain the last hour, not the last year. The steps of one may come to several daemons on one
 * database; each tells the others what it saw, so that any of them knows all.
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
    this.#shared?.hear((message) => {
      if (message?.startsWith(topic)) this.#hear(message.slice(topic.length))
    })
  }

  /** Begins an attempt, or goes on with it: the id is the same for all requests of one attempt. */
  begin(params: Params): string {
    const parts = ['client_id', 'redirect_uri', 'state', 'code_challenge', 'nonce'].map((name) =>
      params.get(name),
    )
    const id = sha256(JSON.stringify(parts)).slice(0, 16)
    if (!this.#attempts.has(id))
      this.#keep(this.#new(id, (params.get('client_id') ?? '(none)').slice(0, 200)))
    return id
  }

  /** Adds what is known by now. */
  about(id: string, facts: Facts): void {
    this.#change(id, (attempt) => Object.assign(attempt, facts))
  }

  /** Keeps pages of an origin in mind that a browser had to refuse; true for the first time. */
  refuseOrigin(origin: string, reason: string): boolean {
    const id = sha256(origin).slice(0, 16)
    // Anybody can send any origin: they must not crowd out what else is kept.
    if (this.#origins.has(origin) || this.#origins.size >= mostOrigins) return false
    this.#origins.add(origin)
    this.#keep({ ...this.#new(id, origin), died: { at: 'web page', reason } })
    return true
  }

  /** A step was reached. */
  step(id: string, step: string): void {
    this.#change(id, (attempt, now) => {
      attempt.died = undefined
      attempt.steps = inOrder([...attempt.steps, [now, step]])
    })
  }

  /** A step failed. */
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

  /** However they come, only so many are kept. */
  #put(attempt: Seen): void {
    if (!this.#attempts.has(attempt.id) && this.#attempts.size >= kept)
      this.#attempts.delete(this.#attempts.keys().next().value!)
    this.#attempts.set(attempt.id, attempt)
  }

  #change(id: string, change: (attempt: Seen, now: number) => unknown): void {
    // What is not known began at another daemon, which has not told of it yet.
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
    const attempts = [...this.#untold].flatMap((id) => {
      const attempt = this.#attempts.get(id)
      return attempt ? [JSON.stringify({ ...told(attempt), at: attempt.steps.map(([at]) => at) })] : []
    })
    this.#untold.clear()
    await store
      .transaction(async (transaction) => {
        for (const text of attempts)
          if (Buffer.byteLength(text) <= mostBytes) transaction.announce(topic + text)
      })
      // Nothing depends on it.
      .catch(() => undefined)
  }

  /** Steps that another daemon saw, or this one itself. Any role that may connect to the database can announce. */
  #hear(text: string): void {
    const heard = readAttempt(text)
    if (!heard) return
    const known = this.#attempts.get(heard.id)
    this.#put(known ? joined(known, heard) : heard)
  }

  /** The newest attempts first. */
  last(count: number): readonly Attempt[] {
    return [...this.#attempts.values()].reverse().slice(0, count).map(told)
  }
}

/** An attempt as `oauth trace` shows it. */
function told({ died, started, updated, steps, ...facts }: Seen): Attempt {
  return {
    ...facts,
    started: isoTime(started),
    updated: isoTime(updated),
    steps: steps.map(([, step]) => step),
    ...(died && { died_at: died.at, reason: died.reason }),
  }
}

/** The steps as they happened; the same again at once is told once. */
function inOrder(all: readonly Step[]): readonly Step[] {
  const sorted = all.toSorted(([one], [other]) => one - other)
  return sorted.filter(([, step], index) => step !== sorted[index - 1]?.[1]).slice(-maxSteps)
}

/** What two daemons know of one attempt. */
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
    // What goes on died nowhere.
    died: newer.died,
  }
}

function readAttempt(text: string): Seen | undefined {
  try {
    const heard = JSON.parse(text) as Attempt & { readonly at?: readonly number[] }
    const { steps, at = [], started, updated, died_at, reason = '', ...facts } = heard
    const texts = [
      facts.id,
      facts.client,
      started,
      updated,
      died_at ?? '',
      reason,
      ...Object.values(facts),
      ...steps,
    ]
    const [began, changed] = [Date.parse(started), Date.parse(updated)]
    if (!texts.every((one) => typeof one === 'string') || !Number.isFinite(began + changed)) return undefined
    // A daemon up to 2.9 tells no moments.
    const isTold = at.length === steps.length && at.every((one) => Number.isFinite(one))
    return {
      ...facts,
      started: began,
      updated: changed,
      steps: steps.map((step, index) => [isTold ? at[index]! : changed, step]),
      died: died_at === undefined ? undefined : { at: died_at, reason },
    }
  } catch {
    return undefined
  }
}
