import type { Stop } from '#leaf/stop.ts'
import { inTime } from '#leaf/turns.ts'
import type { Queryable } from '#state/postgres.ts'
import type { Source } from './source.ts'
import type { SourceAsking } from './door.ts'
import { patienceOf } from './source-limits.ts'

/** Milliseconds that a question waits for the others of its user. */
const patience = 30_000

/** The shares of users in a source: nobody asks so much at once that others have to wait for it. */
export class Shares {
  readonly #most: number
  readonly #running = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(most: number) {
    this.#most = most
  }

  /** Runs work when it is the user's turn. */
  async run<R>(user: string, stop: Stop | undefined, work: () => Promise<R>): Promise<R> {
    await this.#turn(user, stop)
    try {
      return await work()
    } finally {
      const next = this.#waiting.get(user)?.shift()
      if (next) next()
      else this.#leave(user)
    }
  }

  #leave(user: string): void {
    const left = this.#running.get(user)! - 1
    if (left > 0) this.#running.set(user, left)
    else {
      this.#running.delete(user)
      this.#waiting.delete(user)
    }
  }

  async #turn(user: string, stop: Stop | undefined): Promise<void> {
    const running = this.#running.get(user) ?? 0
    if (running < this.#most) {
      this.#running.set(user, running + 1)
      return
    }
    const line = this.#waiting.get(user) ?? []
    this.#waiting.set(user, line)
    let go = (): void => undefined
    let leave: (() => void) | undefined
    const turn = new Promise<void>((resolve, reject) => {
      go = resolve
      line.push(go)
      leave = stop?.onEnd(() => reject(stop.reason!))
    })
    try {
      await inTime(turn, patience, 'your other questions to this database take all of your share')
    } catch (error) {
      line.splice(line.indexOf(go), 1)
      throw error
    } finally {
      leave?.()
    }
  }
}

/** Returns the shares in a source: nobody has more than half of its connections. */
export function sharesOf({ max_connections: most = 4 }: Source): Shares {
  return new Shares(Math.max(1, Math.ceil(most / 2)))
}

/** Returns where questions of somebody go, each when it is their turn; `ask` is told in how many milliseconds it has to end. */
export function askingInTurn(
  shares: Shares,
  source: Source,
  { asker, stop }: SourceAsking,
  ask: (
    asked: Pick<Parameters<Queryable['rows']>[0], 'text' | 'values'>,
    milliseconds: number,
    signal: AbortSignal | undefined,
  ) => ReturnType<Queryable['rows']>,
): Queryable {
  const user = asker?.user ?? stop?.payer?.user ?? ''
  const milliseconds = patienceOf(source)
  return {
    rows: ({ text, values, stop: own = stop }) =>
      shares.run(user, own, () => ask({ text, values }, milliseconds, own?.signal)),
  }
}
