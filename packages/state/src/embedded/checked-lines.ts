/**
 * Lines with a checksum: `<mark><CRC-32 in 8 hex digits> <JSON>\n`. The mark `*` opens a batch: it is
 * written only when everything before it is known to be on disk. So damage with a `*` somewhere after
 * it hit data that had been acknowledged; damage without one is the torn end of an unfinished write.
 */
import { crc32 } from 'node:zlib'
import { messageOf } from '#leaf/errors.ts'
import { type RawLine, readLines } from '../lines/read-lines.ts'

/** The marks of a line that opens a batch, and of one that continues it. */
export const opensBatch = '*'
export const goesOn = '-'

/** A line of a file, as far as it could be read. */
export interface Line extends RawLine {
  readonly opensBatch: boolean
  /** The parsed JSON, unless there is a fault. */
  readonly value: unknown
  readonly fault?: string
}

/** Formats a value as a line, without its mark. */
export function lineOf(value: unknown): string {
  const json = JSON.stringify(value)
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`
}

/** Reads a file line by line, damaged ones included; returns its length in bytes. */
export async function readChecked(path: string, visit: (line: Line) => void): Promise<number> {
  let length = 0
  for await (const lines of readLines(path)) {
    for (const line of lines) {
      visit(decode(line))
      length = line.end
    }
  }
  return length
}

function decode(line: RawLine): Line {
  const { bytes, complete } = line
  const mark = bytes.length > 0 ? String.fromCharCode(bytes[0]!) : ''
  const fault = (text: string): Line => ({ ...line, opensBatch: false, value: undefined, fault: text })
  if (!complete) return fault('the line has no end')
  const sum = bytes.toString('latin1', 1, 9)
  if ((mark !== opensBatch && mark !== goesOn) || !/^[0-9a-f]{8}$/.test(sum) || bytes[9] !== 0x20) {
    return fault('this is not a line of the state')
  }
  const json = bytes.subarray(10)
  if (crc32(json) !== Number.parseInt(sum, 16)) return fault('the checksum does not match')
  try {
    const value = JSON.parse(json.toString('utf8')) as unknown
    const { number, offset, end } = line
    return { number, bytes, offset, end, complete, opensBatch: mark === opensBatch, value }
  } catch (error) {
    return fault(messageOf(error))
  }
}
