/** What the tests of attacks share: how long the daemon's own thread was busy with one thing. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { operate } from '../../src/cli/control.ts'

/** How late the daemon's thread was, in milliseconds. */
export interface Lag {
  readonly p99: number
  readonly max: number
  /**
   * The most that the thread was ready and yet did not run within any such length of time, because the machine ran
   * something else: the kernel's own count. So much of a lateness of that length may be the machine's, and no more.
   */
  readonly machine: (length: number) => number
}

/** What of a lateness is not the machine's. */
export function own({ machine }: Lag, lateness: number): number {
  return Math.max(0, lateness - machine(lateness))
}

/** A daemon of a shipped site with other settings, and its lag. */
export async function watchedDaemon(
  t: TestContext,
  settings: Readonly<Record<string, string>>,
): Promise<{ daemon: RunningDaemon; lag: () => Promise<Lag> }> {
  const site = copyOfShippedSite(t)
  const file = join(site, 'config/settings.yaml')
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of Object.entries(settings)) {
    assert.ok(text.includes(from), from)
    text = text.replace(from, to)
  }
  writeFileSync(file, text)
  const daemon = await startDaemon(t, { site })
  return { daemon, lag: watchLag(t, daemon) }
}

/** Tells how late the daemon's thread was since it was last asked, as its own monitor saw it. */
export function watchLag(t: TestContext, daemon: RunningDaemon): () => Promise<Lag> {
  let samples = [waitedOf(daemon)]
  const sampling = setInterval(() => samples.push(waitedOf(daemon)), 10)
  t.after(() => clearInterval(sampling))
  return async () => {
    const { site, state } = daemon
    const { text: told } = await operate({ site, state, json: true }, 'metrics', {})
    const read = (name: string): number => {
      const [, seconds] = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(told) ?? []
      assert.ok(seconds !== undefined, name)
      return Number(seconds) * 1000
    }
    const past = [...samples, waitedOf(daemon)]
    samples = past.slice(-1)
    return { p99: read('p99'), max: read('max'), machine: (length) => mostWaited(past, length) }
  }
}

interface Sample {
  readonly at: number
  /** For how long the daemon's own thread has been ready without running, since it began. */
  readonly waited: number
}

function waitedOf({ process: { pid } }: RunningDaemon): Sample {
  let waited = 0
  try {
    waited = Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    // It has ended.
  }
  return { at: performance.now(), waited }
}

/** The most of waiting within a time of that length, wherever between two samples it began. */
function mostWaited(samples: readonly Sample[], length: number): number {
  let most = 0
  for (let start = 0, end = 0; start + 1 < samples.length; start++) {
    while (end + 1 < samples.length && samples[end]!.at < samples[start + 1]!.at + length) end++
    most = Math.max(most, samples[end]!.waited - samples[start]!.waited)
  }
  return most
}

/** Milliseconds of the processor that work took without a turn for others, at most, and as a whole. */
export async function spentBy(work: () => Promise<unknown>): Promise<{ longest: number; whole: number }> {
  const since = process.cpuUsage()
  const ticking = new AbortController()
  let longest = 0
  const turns = (async (): Promise<void> => {
    let before = process.cpuUsage()
    while (!ticking.signal.aborted) {
      await new Promise(setImmediate)
      // Of the processor, not of the clock: other programs may have the machine meanwhile.
      const spent = process.cpuUsage(before)
      before = process.cpuUsage()
      longest = Math.max(longest, (spent.user + spent.system) / 1000)
    }
  })()
  await work()
  ticking.abort()
  await turns
  const { user, system } = process.cpuUsage(since)
  return { longest, whole: (user + system) / 1000 }
}
