/** The files of the log: named by the number of their first line and by the day on which they were begun. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

const newline = 0x0a
const blockBytes = 64 * 1024
const listAttempts = 20
const namePattern = /^audit-(\d{12,})-(\d{4}-\d{2}-\d{2})\.jsonl(\.gz)?$/

/** One file of the log. */
export interface LogFile {
  readonly name: string
  readonly path: string
  /** The number of its first line. */
  readonly first: number
  /** When it was begun, as `2026-01-31`, UTC. */
  readonly day: string
  readonly compressed: boolean
  readonly bytes: number
}

/** A line as it lies in a file. */
export interface RawLine {
  readonly file: LogFile
  /** From 1. */
  readonly number: number
  readonly bytes: Buffer
  /** Whether a newline ends it: the last line of the current file may still be being written. */
  readonly complete: boolean
}

/** The name of the file that begins with a line. */
export function logFileName(first: number, day: string): string {
  return `audit-${String(first).padStart(12, '0')}-${day}.jsonl`
}

/**
 * The files of the log, oldest first. A file that lies there both ways counts as uncompressed. Read again
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

/** What the names stand for; undefined when one of them is gone. */
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

/**
 * The lines of a file in order, in handfuls, from a place in its uncompressed content (line numbers then
 * count from there). Nothing when the file was removed meanwhile.
 */
export async function* readLogFile(file: LogFile, from = 0): AsyncGenerator<RawLine[]> {
  let rest: Buffer = Buffer.alloc(0)
  let number = 1
  for await (const chunk of contentOf(file, from)) {
    const lines: RawLine[] = []
    let begin = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, begin)) {
      const part = chunk.subarray(begin, at)
      lines.push({
        file,
        number: number++,
        bytes: rest.length ? Buffer.concat([rest, part]) : part,
        complete: true,
      })
      rest = Buffer.alloc(0)
      begin = at + 1
    }
    rest = rest.length ? Buffer.concat([rest, chunk.subarray(begin)]) : chunk.subarray(begin)
    if (lines.length > 0) yield lines
  }
  if (rest.length > 0) yield [{ file, number, bytes: rest, complete: false }]
}

/** The lines of an uncompressed file from its end, each with where it begins. */
export async function* readBackward(
  path: string,
): AsyncGenerator<{ bytes: Buffer; offset: number; complete: boolean }> {
  const handle = await open(path, 'r')
  try {
    let position = (await handle.stat()).size
    let rest: Buffer = Buffer.alloc(0)
    let complete = false
    while (position > 0) {
      const length = Math.min(blockBytes, position)
      position -= length
      rest = Buffer.concat([await readAt(handle, position, length), rest])
      for (let at = rest.lastIndexOf(newline); at !== -1; at = rest.lastIndexOf(newline)) {
        const bytes = rest.subarray(at + 1)
        if (bytes.length > 0 || complete) yield { bytes, offset: position + at + 1, complete }
        complete = true
        rest = rest.subarray(0, at)
      }
    }
    if (rest.length > 0 || complete) yield { bytes: rest, offset: 0, complete }
  } finally {
    await handle.close()
  }
}

async function* contentOf(file: LogFile, from: number): AsyncGenerator<Buffer> {
  let position = 0
  try {
    const start = file.compressed ? 0 : from
    const raw = createReadStream(file.path, { start, highWaterMark: blockBytes })
    const source = file.compressed ? pipeline(raw, createGunzip(), () => undefined) : raw
    position = start
    for await (const chunk of source as AsyncIterable<Buffer>) {
      const skipped = Math.max(0, from - position)
      position += chunk.length
      if (skipped < chunk.length) yield chunk.subarray(skipped)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // It was compressed, or removed for its age, between being listed and being read.
    if (file.compressed) return
    const compressed = { ...file, path: `${file.path}.gz`, compressed: true }
    if (await stat(compressed.path).catch(() => undefined)) yield* contentOf(compressed, from)
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
