/** Temporary state folders, clocks and logs for the tests of the store. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../../src/core/clock.ts'
import type { Log } from '../../src/core/log.ts'
import { type EmbeddedStore, type EmbeddedStoreOptions, openEmbeddedStore } from '../../src/store/embedded.ts'

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
  t.after(() => rm(folder, { recursive: true, force: true }))
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
  t.after(async () => {
    execFileSync('umount', ['-l', folder])
    await rm(folder, { recursive: true })
  })
  return { folder }
}

/** Waits until something holds; the test's own time limit ends a wait in vain. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await setTimeout(10)
}

/** An embedded store in a folder that is closed after the test. */
export async function openStore(
  t: TestContext,
  folder: string,
  options: Partial<EmbeddedStoreOptions> = {},
): Promise<EmbeddedStore> {
  const store = await openEmbeddedStore({ folder, clock: testClock(), log: testLog(), ...options })
  t.after(() => store.close())
  return store
}
