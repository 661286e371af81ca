/** The files of the log: named after the number of their first line and the day on which they were begun. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type RawLine, readBackward, readLines } from '#state/lines.ts'

const listAttempts = 20
const namePattern = /^audit-(\d{12,})-(\d{4}-\d{2}-\d{2})\.jsonl(\.gz)?$/

/** One file of the log. */
export interface LogFile {
  readonly name: string
  readonly path: string
  /** The number of its first line. */
  readonly first: number
  /** The day on which it was begun, as `2026-01-31`, UTC. */
  readonly day: string
  readonly compressed: boolean
  readonly bytes: number
}

/** Returns the name of the file that begins with a line. */
export function logFileName(first: number, day: string): string {
  return `audit-${String(first).padStart(12, '0')}-${day}.jsonl`
}

/**
 * Lists the files of the log, oldest first. A file that exists in both forms counts as uncompressed. Reads again
 * while names change: a file that is being compressed could otherwise be missed under both of its names.
 */
export async function listLogFiles(folder: string): Promise<LogFile[]> {
  let names = await namesIn(folder)
  for (let attempt = 1; attempt < listAttempts; attempt++) {
    const files = await describeFiles(folder, names)
    const again = await namesIn(folder)
    if (files && again.join() === names.join()) return files
    names = again
  }
  throw new Error('the files of the audit log do not stop changing')
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => namePattern.test(name)).sort()
}

/** Describes the files with these names; undefined when one of them is gone. */
async function describeFiles(folder: string, names: readonly string[]): Promise<LogFile[] | undefined> {
  const files = new Map<number, LogFile>()
  for (const name of names) {
    const [, first, day = '', ending] = namePattern.exec(name)!
    const path = join(folder, name)
    const facts = await stat(path).catch(() => undefined)
    if (!facts) return undefined
    const file = {
      name,
      path,
      first: Number(first),
      day,
      compressed: ending !== undefined,
      bytes: facts.size,
    }
    if (!file.compressed || !files.has(file.first)) files.set(file.first, file)
  }
  return [...files.values()].sort((a, b) => a.first - b.first)
}

/** Yields the lines of a file in order, in batches, from an offset in its content. None when the file was removed meanwhile. */
export async function* readLogFile(file: LogFile, from = 0): AsyncGenerator<RawLine[]> {
  const { path, compressed } = file
  try {
    yield* readLines(path, { from, compressed })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // The file was compressed, or removed for its age, between being listed and being read.
    if (!compressed && (await isThere(file))) yield* readLines(`${path}.gz`, { from, compressed: true })
  }
}

/** Yields the lines of a file from its end, in batches. */
export async function* readLogFileBackward(file: LogFile): AsyncGenerator<RawLine[]> {
  const { path, compressed } = file
  try {
    yield* readBackward(path, { compressed })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (!compressed && (await isThere(file))) yield* readBackward(`${path}.gz`, { compressed: true })
  }
}

/** True when a file still exists, compressed meanwhile or not. */
export async function isThere({ path }: LogFile): Promise<boolean> {
  for (const name of [path, `${path}.gz`]) if (await stat(name).catch(() => undefined)) return true
  return false
}
