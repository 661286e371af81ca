/**
 * Whether a history of overlapping operations could have come about one after the other (linearizability), by the search
 * of Wing and Gong with the memory of Lowe: an order is looked for in which each operation takes effect at one moment
 * between its call and its answer, and every answer is what the model then says.
 */

/** One operation as its client saw it; one whose answer never came may have taken effect at any time after its call, or never. */
export interface Operation<Input, Output> {
  readonly called: number
  readonly answered: number | undefined
  readonly input: Input
  readonly output?: Output
}

/** What one operation does to a state; undefined when it could not have answered so. */
export type Model<State, Input, Output> = (
  state: State,
  operation: Operation<Input, Output>,
) => State | undefined

export function isLinearizable<State, Input, Output>(
  history: readonly Operation<Input, Output>[],
  initial: State,
  model: Model<State, Input, Output>,
): boolean {
  const all = [...history].sort((a, b) => a.called - b.called)
  const tried = new Set<string>()
  const search = (done: bigint, state: State): boolean => {
    const left = all.map((_, n) => n).filter((n) => !(done & (1n << BigInt(n))))
    // What was never answered need not have happened.
    if (left.every((n) => all[n]!.answered === undefined)) return true
    const key = `${done} ${JSON.stringify(state)}`
    if (tried.has(key)) return false
    tried.add(key)
    // Only what was called before the first of the others had answered can come next.
    const first = Math.min(...left.map((n) => all[n]!.answered ?? Infinity))
    return left.some((n) => {
      const operation = all[n]!
      if (operation.called > first) return false
      const next = model(state, operation)
      return next !== undefined && search(done | (1n << BigInt(n)), next)
    })
  }
  return search(0n, initial)
}

/** Notes operations as they are called and answered. */
export class History<Input, Output> {
  readonly operations: Operation<Input, Output>[] = []
  #time = 0

  async note(input: Input, work: () => Promise<Output>): Promise<void> {
    const called = ++this.#time
    try {
      const output = await work()
      this.operations.push({ called, answered: ++this.#time, input, output })
    } catch {
      // It may have been kept all the same.
      this.operations.push({ called, answered: undefined, input })
    }
  }
}
