/**
 * All computing outside the daemon's own process (D7), opened once, found by trying.
 *
 * Nothing here checks permission: only data that one principal may read come in.
 *
 * - `sql/`, `python/`, `files/`, `charts/`: one part each, with the code of the daemon's side and the
 *   program that runs in the child.
 * - `isolation/`: the isolation of a child (`bubblewrap.ts`, `seccomp.ts`), its start (`spawned.ts`), its messages
 *   (`child.ts`), and its turn (`spare.ts`, `one-job.ts`).
 */
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { Charts } from './charts/charts.ts'
import { Files } from './files/files.ts'
import { Python } from './python/python.ts'
import { type Isolation, probeIsolation } from './isolation/bubblewrap.ts'
import { installed } from './isolation/node-program.ts'
import { type SandboxSettings, defaultSandboxSettings } from './settings.ts'
import type { Load } from '#leaf/fair-queue.ts'
import { Sql } from './sql/sql.ts'

export {
  type ChartImage,
  type ChartPoint,
  Charts,
  fontFolders,
  hasFonts,
  type Look,
} from './charts/charts.ts'
export { type FileContent, type FilePart, Files, type Sheet } from './files/files.ts'
export { Cgroups } from './isolation/cgroups.ts'
export { Python, type PythonProgram, type PythonResult } from './python/python.ts'
export { Sql } from './sql/sql.ts'

/** A part that this machine cannot provide: its tools are not offered. */
export interface Unavailable {
  readonly unavailable: string
  /** The remedy for the operator. */
  readonly mend: string
}

/** A finding for `doctor`. */
export interface AnalysisProbe {
  readonly name: 'sandbox' | 'sql' | 'python' | 'files' | 'charts'
  readonly ok: boolean
  readonly detail: string
  readonly mend?: string
}

/** The parts of analysis that this machine can provide. */
export interface Analysis {
  readonly sql: Sql | Unavailable
  readonly python: Python | Unavailable
  readonly files: Files | Unavailable
  readonly charts: Charts | Unavailable
  readonly probes: readonly AnalysisProbe[]
  /** The running and waiting work of each available part. */
  load(): Readonly<Record<string, Load>>
  /** Ends every child process. */
  close(): Promise<void>
}

/** The options that the parts share; tests give an isolation of their own. */
export interface AnalysisOptions {
  readonly settings?: SandboxSettings
  readonly log: Log
  /** The isolation; by default the machine's own. */
  readonly isolation?: Isolation
  readonly cgroups?: Isolation['cgroups']
}

/** Tries all parts in parallel; a part that fails becomes a reason, never a failure to start. */
export async function openAnalysis(options: AnalysisOptions): Promise<Analysis> {
  const settings = options.settings ?? defaultSandboxSettings()
  const isolation = options.isolation ?? {
    ...(await probeIsolation()),
    ...(options.cgroups !== undefined && { cgroups: options.cgroups }),
  }
  // In parallel: one after the other, all attempts would add up in the daemon's start.
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
    // Reported once at the start, since a missing tool is otherwise hard to explain.
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

/** Opens SQL alone, with the default settings of a site: for checks that run no daemon. */
export async function openSqlAlone(): Promise<Sql | Unavailable> {
  return openSql(await probeIsolation(), defaultSandboxSettings())
}

/** Opens the reader of files alone, for a command that reads one. */
export async function openFilesAlone(settings: SandboxSettings['files']): Promise<Files | Unavailable> {
  return tried(new Files(await probeIsolation(), settings), 'npm ci')
}

/** True if a part can be used. */
export function isAvailable<T extends object>(part: T | Unavailable): part is T {
  return !('unavailable' in part)
}

async function openSql(isolation: Isolation, settings: SandboxSettings): Promise<Sql | Unavailable> {
  if (installed('@duckdb/node-api') === undefined)
    return {
      unavailable: 'the optional package @duckdb/node-api is not installed',
      mend: 'install it for this machine: npm ci --include=optional',
    }
  return await tried(new Sql(isolation, settings.sql), 'npm ci --include=optional')
}

async function openPython(isolation: Isolation, settings: SandboxSettings): Promise<Python | Unavailable> {
  if (!settings.python.enabled)
    return { unavailable: 'Python is switched off', mend: 'set analysis.python.enabled to true' }
  // Python can do whatever its process can: without the sandbox it is not offered.
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
  if (isolation.kind !== 'bubblewrap')
    return { name: 'sandbox', ok: false, detail: isolation.reason, mend: isolation.mend }
  const ok = isolation.seccomp !== undefined
  const how = ok ? 'with a system call filter' : 'without a system call filter: unknown machine'
  return { name: 'sandbox', ok, detail: `bubblewrap at ${isolation.path}, ${how}` }
}

function probeOf(name: string, part: { readonly probe: unknown } | Unavailable): AnalysisProbe {
  const known = name as AnalysisProbe['name']
  if (!isAvailable(part)) return { name: known, ok: false, detail: part.unavailable, mend: part.mend }
  if (part instanceof Charts && part.noPng !== undefined)
    return { name: known, ok: true, detail: `draws SVG but no PNG: ${part.noPng}` }
  if (!(part instanceof Python)) return { name: known, ok: true, detail: 'works' }
  const versions = Object.entries(part.versions).map((pair) => pair.join(' '))
  // No limit of a process counts the kernel's memory for files.
  return { name: known, ok: true, detail: `${versions.join(', ')}; ${part.bounds}` }
}
