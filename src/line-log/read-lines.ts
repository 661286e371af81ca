/** Files of lines, read forwards and backwards, whatever lies in them. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

const newline = 0x0a
const blockBytes = 64 * 1024

/** A line as it lies in a file. */
export interface RawLine {
  /** From 1, counted from where reading began. */
  readonly number: number
  readonly bytes: Buffer
  /** Where the line begins in the (uncompressed) file, and where the next one does. */
  readonly offset: number
  readonly end: number
  /** Whether a newline ends it: the last line of a file may still be being written. */
  readonly complete: boolean
}

/** What to read: a place in the uncompressed content to begin at, and whether the file is compressed. */
interface Where {
  readonly from?: number
  readonly compressed?: boolean
}

/** The lines of a file in order, in handfuls. */
export async function* readLines(path: string, options: Where = {}): AsyncGenerator<RawLine[]> {
  let begun: Buffer[] = []
  let offset = options.from ?? 0
  let number = 1
  const line = (part: Buffer, complete: boolean): RawLine => {
    const bytes = begun.length > 0 ? Buffer.concat([...begun, part]) : part
    begun = []
    const end = offset + bytes.length + (complete ? 1 : 0)
    const made = { number: number++, bytes, offset, end, complete }
    offset = end
    return made
  }
  for await (const chunk of contentOf(path, options)) {
    const lines: RawLine[] = []
    let begin = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, begin)) {
      lines.push(line(chunk.subarray(begin, at), true))
      begin = at + 1
    }
    if (begin < chunk.length) begun.push(chunk.subarray(begin))
    if (lines.length > 0) yield lines
  }
  if (begun.length > 0) yield [line(Buffer.alloc(0), false)]
}

/** The lines of an uncompressed file from its end, in handfuls. Numbers count backwards. */
export async function* readBackward(path: string): AsyncGenerator<RawLine[]> {
  const handle = await open(path, 'r')
  try {
    let position = (await handle.stat()).size
    let rest: Buffer = Buffer.alloc(0)
    let complete = false
    let number = 1
    const line = (bytes: Buffer, offset: number): RawLine => {
      return { number: number++, bytes, offset, end: offset + bytes.length + (complete ? 1 : 0), complete }
    }
    while (position > 0) {
      const length = Math.min(blockBytes, position)
      position -= length
      rest = Buffer.concat([await readAt(handle, position, length), rest])
      const lines: RawLine[] = []
      for (let at = rest.lastIndexOf(newline); at !== -1; at = rest.lastIndexOf(newline)) {
        const bytes = rest.subarray(at + 1)
        if (bytes.length > 0 || complete) lines.push(line(bytes, position + at + 1))
        complete = true
        rest = rest.subarray(0, at)
      }
      if (lines.length > 0) yield lines
    }
    if (rest.length > 0 || complete) yield [line(rest, 0)]
  } finally {
    await handle.close()
  }
}

async function* contentOf(path: string, { from = 0, compressed }: Where): AsyncGenerator<Buffer> {
  const start = compressed ? 0 : from
  const raw = createReadStream(path, { start, highWaterMark: blockBytes })
  const content = compressed ? pipeline(raw, createGunzip(), () => undefined) : raw
  let position = start
  for await (const chunk of content as AsyncIterable<Buffer>) {
    const skipped = Math.max(0, from - position)
    position += chunk.length
    if (skipped < chunk.length) yield chunk.subarray(skipped)
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
