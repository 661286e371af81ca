/** Temporary state folders, clocks and logs for the tests of the store. */
import { writeFileSync, writeSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import { type EmbeddedStore, type EmbeddedStoreOptions, openEmbeddedStore } from '#state/embedded/store.ts'

const steps = new WeakMap<TestContext, (() => Promise<void> | void)[]>()

/** Has something done after the test, the last first: what is open is closed before its folder goes. */
export function afterwards(t: TestContext, step: () => Promise<void> | void): void {
  const known = steps.get(t)
  if (known) return void known.push(step)
  const all = [step]
  steps.set(t, all)
  t.after(async () => {
    for (const step of all.toReversed()) await step()
  })
}

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void
}

export function testClock(start = Date.UTC(2026, 0, 2, 3, 4, 5)): TestClock {
  let time = start
  return { now: () => time, advance: (milliseconds) => void (time += milliseconds) }
}

/** A log that keeps its messages. */
export interface TestLog extends Log {
  readonly lines: { level: string; message: string; fields?: Readonly<Record<string, unknown>> }[]
}

export function testLog(): TestLog {
  const lines: TestLog['lines'] = []
  const at =
    (level: string) =>
    (message: string, fields?: Readonly<Record<string, unknown>>): void =>
      void lines.push({ level, message, ...(fields && { fields }) })
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    setLevel: () => undefined,
  }
}

/** An empty folder that is removed after the test. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'assistant-core-store-'))
  afterwards(t, () => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A disk of so many bytes that is unmounted after the test, or the reason why there is none. */
export async function smallDisk(
  t: TestContext,
  bytes: number,
): Promise<{ folder: string } | { reason: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'assistant-core-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'none', folder], { stdio: 'pipe' })
  } catch {
    await rm(folder, { recursive: true })
    return { reason: 'this user may not mount a tmpfs' }
  }
  afterwards(t, async () => {
    execFileSync('umount', ['-l', folder])
    await rm(folder, { recursive: true })
  })
  return { folder }
}

/** Takes all that is left of a disk; answers the file that does, which gives it back when it is removed. */
export function fillDisk(folder: string): string {
  const ballast = join(folder, 'ballast')
  try {
    for (;;) writeFileSync(ballast, Buffer.alloc(1 << 20), { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
  return ballast
}

/** Says a line on standard output at once: what was said has left the process before anything else can happen to it. */
export function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      // The pipe is full: whoever reads it is slow.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

/** Waits until something holds; the test's own time limit ends a wait in vain. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await setTimeout(10)
}

/** Does the work while a loop goes on that ends with its signal, however the work ends. */
export async function during(
  loop: (signal: AbortSignal) => Promise<void>,
  work: () => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const running = loop(stop.signal)
  try {
    await work()
  } finally {
    stop.abort()
    await running
  }
}

/** An embedded store in a folder that is closed after the test. */
export async function openStore(
  t: TestContext,
  folder: string,
  options: Partial<EmbeddedStoreOptions> = {},
): Promise<EmbeddedStore> {
  const store = await openEmbeddedStore({ folder, clock: testClock(), log: testLog(), ...options })
  afterwards(t, () => store.close())
  return store
}
