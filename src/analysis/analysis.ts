/**
 * Everything that computes outside the daemon's own process (D7), opened once, found by trying.
 *
 * - `permitted.ts`: what is computed on, which is what one principal may read; nothing here asks for
 *   permission again, so nothing else may come in.
 * - `sql/`, `python/`, `files/`, `charts/`: one part each, with the code of the daemon's side and the
 *   program that runs in the child.
 * - `sandbox/`: how a child is shut off (`bubblewrap.ts`, `seccomp.ts`), started (`spawned.ts`) and spoken
 *   to (`child.ts`), and how many run at once (`fair-queue.ts`, `spare.ts`, `one-job.ts`).
 * - `business.ts`, `statistics.ts`: plain computations that need no child.
 */
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { Charts } from './charts/charts.ts'
import { Files } from './files/files.ts'
import { Python } from './python/python.ts'
import { type Isolation, probeIsolation } from './sandbox/bubblewrap.ts'
import { installed } from './sandbox/node-program.ts'
import { type AnalysisSettings, defaultAnalysisSettings } from './settings.ts'
import type { Load } from '../core/fair-queue.ts'
import { Sql } from './sql/sql.ts'

/** A part that this machine cannot give: its tools are not offered. */
export interface Unavailable {
  readonly unavailable: string
  /** What the operator can do about it. */
  readonly mend: string
}

/** One finding for `doctor`. */
export interface AnalysisProbe {
  readonly name: 'sandbox' | 'sql' | 'python' | 'files' | 'charts'
  readonly ok: boolean
  readonly detail: string
  readonly mend?: string
}

/** What analysis this machine can do. */
export interface Analysis {
  readonly sql: Sql | Unavailable
  readonly python: Python | Unavailable
  readonly files: Files | Unavailable
  readonly charts: Charts | Unavailable
  readonly probes: readonly AnalysisProbe[]
  /** What runs and waits now, of each part that this machine can do. */
  load(): Readonly<Record<string, Load>>
  /** Ends every child process. */
  close(): Promise<void>
}

/** What the parts share; tests give an isolation of their own. */
export interface AnalysisOptions {
  readonly settings?: AnalysisSettings
  readonly log: Log
  /** The machine's own without it. */
  readonly isolation?: Isolation
  readonly cgroups?: Isolation['cgroups']
}

/** Tries what this machine can do, in parallel; what it cannot becomes a reason, never a failure to start. */
export async function openAnalysis(options: AnalysisOptions): Promise<Analysis> {
  const settings = options.settings ?? defaultAnalysisSettings()
  const isolation = options.isolation ?? {
    ...(await probeIsolation()),
    ...(options.cgroups !== undefined && { cgroups: options.cgroups }),
  }
  // At once: one after the other, the daemon's start would take as long as all attempts together.
  const [sql, python, files, charts] = await Promise.all([
    openSql(isolation, settings),
    openPython(isolation, settings),
    tried(new Files(isolation, settings.files), 'npm ci'),
    tried(new Charts(isolation, settings.charts), 'npm ci'),
  ])
  const parts = { sql, python, files, charts }
  const probes = [
    sandboxProbe(isolation),
    ...Object.entries(parts).map(([name, part]) => probeOf(name, part)),
  ]
  for (const { name, ok, detail, mend } of probes)
    // Told once at the start, since a tool that is missing is otherwise hard to explain.
    if (!ok) options.log.warn('analysis is limited', { part: name, reason: detail, mend })
  return {
    ...parts,
    probes,
    load: () =>
      Object.fromEntries(
        Object.entries(parts).flatMap(([name, part]) => (isAvailable(part) ? [[name, part.load()]] : [])),
      ),
    close: async () => {
      for (const part of Object.values(parts)) if (isAvailable(part)) await part.close()
    },
  }
}

/** SQL alone, with the settings that a site has unless it says otherwise: for checks that run no daemon. */
export async function openSqlAlone(): Promise<Sql | Unavailable> {
  return openSql(await probeIsolation(), defaultAnalysisSettings())
}

/** Whether a part can be used. */
export function isAvailable<T extends object>(part: T | Unavailable): part is T {
  return !('unavailable' in part)
}

async function openSql(isolation: Isolation, settings: AnalysisSettings): Promise<Sql | Unavailable> {
  if (installed('@duckdb/node-api') === undefined)
    return {
      unavailable: 'the optional package @duckdb/node-api is not installed',
      mend: 'install it for this machine: npm ci --include=optional',
    }
  return await tried(new Sql(isolation, settings.sql), 'npm ci --include=optional')
}

async function openPython(isolation: Isolation, settings: AnalysisSettings): Promise<Python | Unavailable> {
  if (!settings.python.enabled)
    return { unavailable: 'Python is switched off', mend: 'set analysis.python.enabled to true' }
  // Python can do whatever its process can: without the sandbox there is none.
  if (isolation.kind !== 'bubblewrap') return { unavailable: isolation.reason, mend: isolation.mend }
  return await tried(
    new Python(isolation, settings.python),
    'apt-get install python3 python3-numpy python3-pandas',
  )
}

async function tried<T extends { probe(): Promise<void>; close(): Promise<void> }>(
  part: T,
  mend: string,
): Promise<T | Unavailable> {
  try {
    await part.probe()
    return part
  } catch (error) {
    await part.close()
    const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : ''
    return { unavailable: `${messageOf(error)}${cause}`, mend }
  }
}

function sandboxProbe(isolation: Isolation): AnalysisProbe {
  return isolation.kind === 'bubblewrap'
    ? {
        name: 'sandbox',
        ok: isolation.seccomp !== undefined,
        detail: `bubblewrap at ${isolation.path}${isolation.seccomp ? ' with a system call filter' : ', without a system call filter: unknown machine'}`,
      }
    : { name: 'sandbox', ok: false, detail: isolation.reason, mend: isolation.mend }
}

function probeOf(name: string, part: { readonly probe: unknown } | Unavailable): AnalysisProbe {
  const known = name as AnalysisProbe['name']
  if (!isAvailable(part)) return { name: known, ok: false, detail: part.unavailable, mend: part.mend }
  if (part instanceof Charts && part.noPng !== undefined)
    return { name: known, ok: true, detail: `draws SVG but no PNG: ${part.noPng}` }
  if (!(part instanceof Python)) return { name: known, ok: true, detail: 'works' }
  const versions = Object.entries(part.versions).map((pair) => pair.join(' '))
  // What the kernel keeps for files counts in no limit of a process.
  return { name: known, ok: true, detail: `${versions.join(', ')}; ${part.bounds}` }
}
