/**
 * Lines with a checksum: `<mark><CRC-32 in 8 hex digits> <JSON>\n`. The mark `*` opens a batch: it is
 * written only when everything before it is known to be on disk. So damage with a `*` somewhere behind
 * it hit data that had been acknowledged; damage without one is the torn end of a write that never ended.
 */
import { open } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { messageOf } from '../core/errors.ts'

const newline = 0x0a
const readBytes = 1 << 20

/** The mark of a line that opens a batch, and of one that goes on with it. */
export const opensBatch = '*'
export const goesOn = '-'

/** A line of a file, as far as it could be read. */
export interface Line {
  /** From 1. */
  readonly number: number
  /** Where the line begins, in bytes. */
  readonly offset: number
  /** Where the next one begins. */
  readonly end: number
  readonly opensBatch: boolean
  /** The parsed JSON, unless there is a fault. */
  readonly value: unknown
  readonly fault?: string
}

/** A value as a line, without its mark. */
export function lineOf(value: unknown): string {
  const json = JSON.stringify(value)
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`
}

/** Reads a file line by line, damaged ones included; answers its length in bytes. */
export async function readLines(
  path: string,
  visit: (line: Line) => void,
  signal?: AbortSignal,
): Promise<number> {
  const file = await open(path, 'r')
  try {
    let rest: Buffer = Buffer.alloc(0)
    let offset = 0
    let number = 1
    const line = (bytes: Buffer, complete: boolean): void => {
      const length = bytes.length + (complete ? 1 : 0)
      visit({ number, offset, end: offset + length, ...decode(bytes, complete) })
      offset += length
      number++
    }
    for (;;) {
      signal?.throwIfAborted()
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(readBytes), 0, readBytes, null)
      if (bytesRead === 0) break
      const bytes = buffer.subarray(0, bytesRead)
      let from = 0
      for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, from)) {
        const part = bytes.subarray(from, at)
        line(rest.length ? Buffer.concat([rest, part]) : part, true)
        rest = Buffer.alloc(0)
        from = at + 1
      }
      rest = rest.length ? Buffer.concat([rest, bytes.subarray(from)]) : bytes.subarray(from)
    }
    if (rest.length > 0) line(rest, false)
    return offset
  } finally {
    await file.close()
  }
}

function decode(bytes: Buffer, complete: boolean): Pick<Line, 'opensBatch' | 'value' | 'fault'> {
  const mark = bytes.length > 0 ? String.fromCharCode(bytes[0]!) : ''
  const fault = (text: string): Pick<Line, 'opensBatch' | 'value' | 'fault'> => {
    return { opensBatch: false, value: undefined, fault: text }
  }
  if (!complete) return fault('the line has no end')
  const sum = bytes.toString('latin1', 1, 9)
  if ((mark !== opensBatch && mark !== goesOn) || !/^[0-9a-f]{8}$/.test(sum) || bytes[9] !== 0x20) {
    return fault('this is not a line of the state')
  }
  const json = bytes.subarray(10)
  if (crc32(json) !== Number.parseInt(sum, 16)) return fault('the checksum does not match')
  try {
    return { opensBatch: mark === opensBatch, value: JSON.parse(json.toString('utf8')) as unknown }
  } catch (error) {
    return fault(messageOf(error))
  }
}
