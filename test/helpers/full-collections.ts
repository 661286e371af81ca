import { constants, PerformanceObserver } from 'node:perf_hooks'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { collectGarbage } from '#leaf/garbage.ts'

/** Returns the number of full collections of garbage while a million things pass, after one at the beginning. `pass` lets so many come and go. */
export async function fullCollections(pass: (count: number) => void): Promise<number> {
  let full = 0
  const watching = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as unknown as { detail: { kind: number } }[])
      if (entry.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) full++
  })
  watching.observe({ entryTypes: ['gc'] })
  pass(1000)
  await collectGarbage()
  await setTimeout(10)
  const before = full
  for (let turn = 0; turn < 100; turn++) {
    pass(10_000)
    await setImmediate()
  }
  await setTimeout(10)
  watching.disconnect()
  return full - before
}
