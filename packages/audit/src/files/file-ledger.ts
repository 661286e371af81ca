/** The ledger of a daemon that is alone: files in its folder, each for one day and limited in size. */
import { readFile, stat, truncate, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, isoTime } from '#leaf/clock.ts'
import { replaceFile, syncFolder } from '#leaf/files.ts'
import type { Log } from '#leaf/log.ts'
import { Turns } from '#leaf/turns.ts'
import { AppendFile, type RawLine } from '#state/lines.ts'
import type { Ledger, LedgerLine, LedgerLines, LedgerQuestion, LedgerWriter } from '#state/store.ts'
import { parseLine } from '../line.ts'
import { listLogFiles, type LogFile, logFileName, readLogFile, readLogFileBackward } from './log-files.ts'
import type { AuditSettings } from '../settings.ts'

const newline = 0x0a
const dayMilliseconds = 86_400_000
/** The number of bytes at the end of a file in which a line is first looked for. */
const nearBytes = 1 << 20

/** The id of the one writer of files: their lines name none. */
export const fileWriter = ''

/** The parts that files are written with. */
export interface FileParts {
  readonly clock: Clock
  readonly log: Log
  /** Returns the current settings; called at each write, since settings change at run time. */
  readonly settings: () => AuditSettings
  /** Called when a file was closed and another begun. */
  readonly rotated: () => void
}

/** A last line; without its text when it was removed. */
interface LastLine {
  readonly seq: number
  readonly line: string | undefined
}

export class FileLedger implements Ledger {
  readonly folder: string
  readonly #parts: FileParts | undefined
  readonly #uncompressing = new Turns()
  #file: AppendFile | undefined
  #day = ''
  #last: LastLine | undefined

  /** Creates a ledger: with parts, to be written once it is opened; without, for reading only. */
  constructor(folder: string, parts?: FileParts) {
    this.folder = folder
    this.#parts = parts
  }

  async writers(): Promise<readonly LedgerWriter[]> {
    const files = await listLogFiles(this.folder)
    const { seq: last, line } = this.#last ?? (await lastOf(files))
    return [{ id: fileWriter, name: '', keys: [], first: files[0]?.first ?? 0, last, since: undefined, line }]
  }

  async *read({ after = 0, since = -Infinity, backward }: LedgerQuestion): AsyncGenerator<RawLine[]> {
    const files = (await listLogFiles(this.folder)).filter((_, index, all) => {
      const next = all[index + 1]
      // One day of tolerance for clocks that were set.
      const isLate = !next || Date.parse(next.day) + 2 * dayMilliseconds >= since
      return isLate && (!next || backward || next.first > after + 1)
    })
    if (backward) for (const file of files.reverse()) yield* this.#backward(file)
    else
      for (const [index, file] of files.entries())
        yield* index === 0 && file.first <= after ? linesBehind(file, after) : readLogFile(file)
  }

  async *#backward(file: LogFile): AsyncGenerator<RawLine[]> {
    // The content of a compressed one is in memory meanwhile, so one is read at a time.
    if (file.compressed) await this.#uncompressing.take()
    try {
      yield* readLogFileBackward(file)
    } finally {
      if (file.compressed) this.#uncompressing.done()
    }
  }

  /** The path of the file that is being written. */
  get current(): string | undefined {
    return this.#file?.path
  }

  /** Finds the end. Puts aside what a crash left after the last whole line; returns what an audit event says of that. */
  async open(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const files = await listLogFiles(this.folder)
    this.#last = await lastOf(files)
    const file = files.at(-1)
    if (!file || file.compressed) return undefined
    const { length } = await endOfFile(file)
    const torn = length < file.bytes ? await putAside(this.folder, file, length) : undefined
    if (torn)
      this.#parts!.log.warn(
        'the last line of the audit log was not finished before a crash; it is put aside',
        torn,
      )
    this.#file = await AppendFile.open(file.path, length)
    this.#day = file.day
    return torn
  }

  async add({ lines }: LedgerLines, after: number): Promise<boolean> {
    if (this.#last?.seq !== after) return false
    if (!this.#file) await this.begin()
    await this.#file!.append(bytesOf(lines))
    this.#last = lines.at(-1)!
    return true
  }

  /** True when the file should end, signed, before more is added. */
  get isFull(): boolean {
    const { length } = this.#file ?? { length: 0 }
    if (length === 0) return false
    return this.#day !== this.#today() || length >= this.#parts!.settings().max_file_bytes
  }

  /** Begins a file after the last line. */
  async begin(): Promise<void> {
    const before = this.#file
    const day = this.#today()
    const path = join(this.folder, logFileName(this.#last!.seq + 1, day))
    // An attempt that failed half-way may have left an empty file.
    const left = await stat(path).catch(() => undefined)
    if (left?.size === 0) await unlink(path)
    const file = await AppendFile.create(path)
    await syncFolder(this.folder)
    this.#file = file
    this.#day = day
    if (!before) return
    await before.close()
    this.#parts!.rotated()
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }

  #today(): string {
    return isoTime(this.#parts!.clock.now()).slice(0, 10)
  }
}

/** Returns lines as they stand in a file; one text of them all would be one copy more. */
function bytesOf(lines: readonly LedgerLine[]): Buffer {
  const bytes = Buffer.allocUnsafe(lines.reduce((sum, { line }) => sum + Buffer.byteLength(line) + 1, 0))
  let at = 0
  for (const { line } of lines) {
    at += bytes.write(line, at)
    bytes[at++] = newline
  }
  return bytes
}

/** Returns the last line of files, or only its number when it was removed and the next file has none yet. */
async function lastOf(files: readonly LogFile[]): Promise<LastLine> {
  for (const file of files.toReversed()) {
    const { last } = await endOfFile(file)
    if (last) return last
  }
  return { seq: (files[0]?.first ?? 1) - 1, line: undefined }
}

/** Returns where the good part of a file ends, before anything that a crash left, and its last line. */
export async function endOfFile(
  file: LogFile,
): Promise<{ readonly length: number; readonly last?: LastLine }> {
  for await (const lines of readLogFileBackward(file))
    for (const { bytes, end, complete } of lines) {
      const line = complete ? parseLine(bytes) : undefined
      const length = file.compressed ? file.bytes : end
      if (line) return { length, last: { seq: line.seq, line: bytes.toString('utf8') } }
    }
  return { length: file.compressed ? file.bytes : 0 }
}

/** Moves what follows the good part of a file into a file of its own. */
async function putAside(
  folder: string,
  { name, path }: LogFile,
  good: number,
): Promise<Record<string, unknown>> {
  const bytes = (await readFile(path)).subarray(good)
  const aside = `${name}.torn-at-${good}`
  await replaceFile(join(folder, aside), bytes)
  await truncate(path, good)
  return { file: name, at: good, bytes: bytes.length, kept_as: aside }
}

/** Yields the lines after a given one in a file. */
async function* linesBehind(file: LogFile, after: number): AsyncGenerator<RawLine[]> {
  const near = await nearBehind(file, after)
  if (near) yield near
  else for await (const lines of readLogFile(file)) yield lines.filter((line) => seqOf(line) > after)
}

/** Returns the same lines, read from the end of the file; undefined when the given line is not near the end. */
async function nearBehind(file: LogFile, after: number): Promise<RawLine[] | undefined> {
  const behind: RawLine[] = []
  let bytes = 0
  for await (const lines of readLogFileBackward(file))
    for (const line of lines) {
      const seq = seqOf(line)
      if (seq > 0 && seq <= after) return behind.reverse()
      behind.push(line)
      bytes += line.bytes.length
      if (bytes > nearBytes) return undefined
    }
  return undefined
}

function seqOf({ bytes, complete }: RawLine): number {
  return (complete && parseLine(bytes)?.seq) || 0
}
