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

/** An attempt with the moment of each step, in milliseconds: what several daemons saw is put in order by it. */
interface Seen extends Attempt {
  readonly at: readonly number[]
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
      this.#keep({ id, started, updated: started, client, steps: [], at: [] })
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
    const facts = { id, started, updated: started, client: origin, died_at: 'web page', reason }
    this.#keep({ ...facts, steps: [], at: [] })
    return true
  }

  /** A step was reached. */
  step(id: string, step: string): void {
    const now = this.#clock.now()
    this.#change(id, ({ died_at: _step, reason: _why, ...attempt }) => ({
      ...attempt,
      ...inOrder([...pairs(attempt), [now, step]]),
    }))
  }

  /** A step failed. */
  fail(id: string, step: string, reason: string): void {
    this.#change(id, (attempt) => ({ ...attempt, died_at: step, reason: reason.slice(0, 600) }))
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

  #change(id: string, change: (attempt: Seen) => Seen): void {
    let attempt = this.#attempts.get(id)
    if (!attempt) {
      if (!this.#shared) return
      // It began at another daemon, which has not told of it yet.
      const started = isoTime(this.#clock.now())
      attempt = { id, started, updated: started, client: elsewhere, steps: [], at: [] }
    }
    this.#keep({ ...change(attempt), updated: isoTime(this.#clock.now()) })
  }

  #tell(id: string): void {
    const store = this.#shared
    if (!store) return
    if (this.#untold.size === 0) setTimeout(() => void this.#announce(store), gathering).unref()
    this.#untold.add(id)
  }

  async #announce(store: Store): Promise<void> {
    const attempts = [...this.#untold].map((id) => JSON.stringify(this.#attempts.get(id) ?? {}))
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
    return [...this.#attempts.values()].reverse().slice(0, count).map(withoutMoments)
  }
}

function withoutMoments(attempt: Seen): Attempt {
  const { at: _at, ...told } = attempt
  return told
}

type Step = readonly [at: number, step: string]

function pairs({ steps, at }: Seen): Step[] {
  return steps.map((step, index) => [at[index]!, step])
}

/** The steps as they happened; the same again at once is told once. */
function inOrder(all: readonly Step[]): Pick<Seen, 'steps' | 'at'> {
  const sorted = [...all].sort(([one], [other]) => one - other)
  const told = sorted.filter(([, step], index) => step !== sorted[index - 1]?.[1]).slice(-maxSteps)
  return { steps: told.map(([, step]) => step), at: told.map(([at]) => at) }
}

/** What two daemons know of one attempt. */
function joined(one: Seen, other: Seen): Seen {
  const [first, second] = one.started <= other.started ? [one, other] : [other, one]
  const [older, newer] = one.updated <= other.updated ? [one, other] : [other, one]
  // What goes on died nowhere.
  const { died_at: _step, reason: _why, ...before } = older
  const known = pairs(one)
  const more = pairs(other).filter(([at, step]) => !known.some((it) => it[0] === at && it[1] === step))
  return {
    ...before,
    ...newer,
    client: first.client === elsewhere ? second.client : first.client,
    started: first.started,
    ...inOrder([...known, ...more]),
  }
}

function readAttempt(text: string): Seen | undefined {
  try {
    const heard = JSON.parse(text) as Attempt & Partial<Seen>
    const { steps, at, ...facts } = heard
    const texts = [facts.id, facts.started, facts.updated, facts.client, ...Object.values(facts), ...steps]
    if (!Array.isArray(steps) || !texts.every((one) => typeof one === 'string')) return undefined
    // A daemon up to 2.9 tells no moments.
    const isTold = Array.isArray(at) && at.length === steps.length && at.every((one) => Number.isFinite(one))
    return { ...heard, at: isTold ? at : steps.map(() => Date.parse(facts.updated)) }
  } catch {
    return undefined
  }
}
