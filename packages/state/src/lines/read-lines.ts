/** Reads files of lines forwards and backwards, whatever lies in them. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

const newline = 0x0a
const blockBytes = 64 * 1024

/** A line as it lies in a file. */
export interface RawLine {
  /** The line number, from 1 where reading began. */
  readonly number: number
  readonly bytes: Buffer
  /** The offset of the line in the (uncompressed) file, and that of the next line. */
  readonly offset: number
  readonly end: number
  /** True when a newline ends it: the last line of a file may still be being written. */
  readonly complete: boolean
}

/** Reading options: the offset in the uncompressed content to begin at, and whether the file is compressed. */
interface Where {
  readonly from?: number
  readonly compressed?: boolean
}

/** Yields the lines of a file in order, in batches. */
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

/** Yields the lines of a file from its end, in batches; a compressed one is in memory meanwhile. Numbers count backwards. */
export async function* readBackward(path: string, { compressed }: Where = {}): AsyncGenerator<RawLine[]> {
  // The end of a line whose beginning lies in an earlier block, the last part first.
  let behind: Buffer[] = []
  let complete = false
  let number = 1
  const line = (part: Buffer, offset: number): RawLine | undefined => {
    const bytes = behind.length > 0 ? Buffer.concat([...behind, part].reverse()) : part
    behind = []
    if (bytes.length === 0 && !complete) return undefined
    return { number: number++, bytes, offset, end: offset + bytes.length + (complete ? 1 : 0), complete }
  }
  for await (const { block, position } of compressed ? uncompressed(path) : blocksOf(path)) {
    const lines: RawLine[] = []
    let rest = block
    for (let at = rest.lastIndexOf(newline); at !== -1; at = rest.lastIndexOf(newline)) {
      const one = line(rest.subarray(at + 1), position + at + 1)
      if (one) lines.push(one)
      complete = true
      rest = rest.subarray(0, at)
    }
    if (rest.length > 0) behind.push(rest)
    if (lines.length > 0) yield lines
  }
  const first = line(Buffer.alloc(0), 0)
  if (first) yield [first]
}

/** A part of a file's content, and where it begins. */
interface Block {
  readonly block: Buffer
  readonly position: number
}

/** Yields the blocks of a file, the last first. */
async function* blocksOf(path: string): AsyncGenerator<Block> {
  const handle = await open(path, 'r')
  try {
    for (let position = (await handle.stat()).size; position > 0;) {
      const length = Math.min(blockBytes, position)
      position -= length
      yield { block: await readAt(handle, position, length), position }
    }
  } finally {
    await handle.close()
  }
}

/** Does the same for a compressed file, which can be read from its beginning only. */
async function* uncompressed(path: string): AsyncGenerator<Block> {
  const blocks: Block[] = []
  let position = 0
  for await (const block of contentOf(path, { compressed: true })) {
    blocks.push({ block, position })
    position += block.length
  }
  while (blocks.length > 0) yield blocks.pop()!
}

async function* contentOf(path: string, { from = 0, compressed }: Where): AsyncGenerator<Buffer> {
  const start = compressed ? 0 : from
  const raw = createReadStream(path, { start, highWaterMark: blockBytes })
  const content = compressed ? pipeline(raw, createGunzip({ chunkSize: blockBytes }), () => undefined) : raw
  let position = start
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      const skipped = Math.max(0, from - position)
      position += chunk.length
      if (skipped < chunk.length) yield chunk.subarray(skipped)
    }
  } catch (error) {
    if (!/^Z_(DATA|BUF)_ERROR$/.test(String((error as NodeJS.ErrnoException).code))) throw error
    // A compressed file that was changed or cut off ends here, in a line that has no end.
    yield Buffer.from(' ')
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}
