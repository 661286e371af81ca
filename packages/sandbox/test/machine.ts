/** What tests of the sandboxes share: what this machine can do, and what is left behind afterwards. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import type { Column, PermittedTables } from '#sandbox/tables.ts'
import { type Isolation, probeIsolation } from '#sandbox/isolation/bubblewrap.ts'
import { installed } from '#sandbox/isolation/node-program.ts'
import type { TurnTaker } from '#leaf/fair-queue.ts'
import { type SandboxSettings, defaultSandboxSettings } from '#sandbox/settings.ts'

const defaults = defaultSandboxSettings()
export const isolation = await probeIsolation()
export const noSandbox: Isolation = { kind: 'process', reason: 'for a test', mend: 'nothing' }

/** Why tests of SQL or Python cannot run here, or false. */
export const withoutSql =
  installed('@duckdb/node-api') === undefined ? '@duckdb/node-api is not installed' : false
export const withoutSandbox = isolation.kind === 'bubblewrap' ? false : isolation.reason
export const withoutPython =
  withoutSandbox ||
  (existsSync(defaults.python.interpreter) ? false : `there is no ${defaults.python.interpreter}`)

/** Every way in which a part can be run here. */
export const isolations = isolation.kind === 'bubblewrap' ? [isolation, noSandbox] : [noSandbox]

/** The settings of a machine on which tests must not take long. */
export const settings: SandboxSettings = {
  ...defaults,
  sql: { ...defaults.sql, timeout_seconds: 20 },
}

export function signal(): AbortSignal {
  return new AbortController().signal
}

/** Tables of values; `asked` tells how often rows were read. */
export function tablesOf(
  contents: Readonly<
    Record<string, { columns: readonly Column[]; rows: readonly (readonly unknown[])[]; revision?: string }>
  >,
  key = 'someone',
): PermittedTables & { asked: () => number } {
  let asked = 0
  return {
    key,
    asked: () => asked,
    tables: Object.entries(contents).map(([name, { columns, rows, revision = '1' }]) => ({
      name,
      columns,
      read: () =>
        Promise.resolve({
          revision,
          async *pages() {
            asked++
            yield rows
          },
        }),
    })),
  }
}

/** The processes that descend from this one, esbuild's service aside. */
export function descendants(): number[] {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8')
      const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
      if (name !== 'esbuild')
        parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // It ended meanwhile.
    }
  }
  const found: number[] = []
  for (let next = [process.pid]; next.length > 0;) {
    next = [...parents].filter(([, parent]) => next.includes(parent)).map(([pid]) => pid)
    found.push(...next)
  }
  return found
}

/** The command lines of all programs of this machine. */
export function programs(): string[] {
  return readdirSync('/proc').flatMap((entry) => {
    try {
      return /^\d+$/.test(entry) ? [readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ')] : []
    } catch {
      return []
    }
  })
}

/** Whether all child processes are gone, zombies included, given a moment. */
export async function allGone(): Promise<boolean> {
  for (let tries = 0; tries < 400; tries++) {
    if (descendants().length === 0) return true
    await wait(50)
  }
  return false
}

export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

/** Counts turns of the event loop while something runs: a blocked daemon would not turn. */
export async function turnsDuring(
  work: () => Promise<unknown>,
): Promise<{ turns: number; milliseconds: number }> {
  let turns = 0
  const timer = setInterval(() => turns++, 10)
  const started = performance.now()
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return { turns, milliseconds: performance.now() - started }
}

/** A user who stays. */
export function caller(user = 'someone@example.com'): TurnTaker {
  return { user, signal: signal() }
}
