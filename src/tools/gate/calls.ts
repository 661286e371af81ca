import { AppError } from '#leaf/errors.ts'
import { PassingMap } from '#leaf/passing-map.ts'

/** The number of calls that run now, per user and per user and tool; outlives the snapshots. */
export interface Calls {
  /** Takes a place until the returned function is called. AppError `unavailable` when there is none. */
  enter(user: string, tool: string, most: number, mostOfTool: number | undefined): () => void
  running(): number
}

/** Makes the counters of one process, which keep one user or one slow tool from taking all of it. */
export function createCalls(): Calls {
  const counts = new PassingMap<string, number>()
  let total = 0
  const change = (key: string, by: number): void => {
    const next = (counts.get(key) ?? 0) + by
    if (next === 0) counts.delete(key)
    else counts.set(key, next)
  }
  return {
    running: () => total,
    enter: (user, tool, most, mostOfTool) => {
      const both = `${user}\n${tool}`
      if ((counts.get(user) ?? 0) >= most)
        throw new AppError('unavailable', `${most} calls of yours are running already; wait for one to end`)
      if (mostOfTool !== undefined && (counts.get(both) ?? 0) >= mostOfTool)
        throw new AppError(
          'unavailable',
          `${mostOfTool} calls of ${tool} are running already; wait for one to end`,
        )
      change(user, 1)
      change(both, 1)
      total++
      let left = false
      return () => {
        // A second release would free the place of another call.
        if (left) return
        left = true
        change(user, -1)
        change(both, -1)
        total--
      }
    },
  }
}
