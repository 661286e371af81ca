// @ts-check
/**
 * The frames between the daemon and its child processes: a message is a line of JSON; bytes
 * follow a line `#N` and are N of them. Both sides read with this.
 */
import { Socket } from 'node:net'

/** The longest line that is read: parsing it holds the event loop for a few milliseconds at most. */
export const maxLine = 262_144

const lineEnd = 10
const hash = 35

/** Reassembles one side's frames from pieces of any size. Throws FrameFault for data that is no frame. */
export class Frames {
  #maxLine
  #maxBytes
  /** @type {Buffer[]} */
  #parts = []
  #size = 0
  /** The announced bytes still to come; 0 while a line is read. */
  #wanted = 0

  /** @param {{ maxLine?: number, maxBytes: number }} limits */
  constructor({ maxLine: line = maxLine, maxBytes }) {
    this.#maxLine = line
    this.#maxBytes = maxBytes
  }

  /**
   * Returns the frames that this piece completes.
   * @param {Buffer} data @returns {{ kind: 'line' | 'bytes', data: Buffer }[]}
   */
  take(data) {
    const found = []
    let rest = data
    while (rest.length > 0) {
      if (this.#wanted > 0) {
        const part = rest.subarray(0, this.#wanted)
        this.#wanted -= part.length
        rest = rest.subarray(part.length)
        this.#parts.push(part)
        if (this.#wanted === 0) found.push({ kind: /** @type {const} */ ('bytes'), data: this.#whole() })
        continue
      }
      const end = rest.indexOf(lineEnd)
      const part = end === -1 ? rest : rest.subarray(0, end)
      this.#size += part.length
      if (this.#size > this.#maxLine) throw new FrameFault('sent too large a message')
      this.#parts.push(part)
      rest = rest.subarray(part.length + 1)
      if (end === -1) break
      const line = this.#whole()
      if (line[0] === hash) {
        this.#wanted = Number(line.subarray(1, 20).toString('latin1'))
        if (!(Number.isInteger(this.#wanted) && this.#wanted > 0))
          throw new FrameFault('sent what is not a message')
        if (this.#wanted > this.#maxBytes) throw new FrameFault('sent too large a message')
      } else found.push({ kind: /** @type {const} */ ('line'), data: line })
    }
    return found
  }

  #whole() {
    const whole =
      this.#parts.length === 1 ? /** @type {Buffer} */ (this.#parts[0]) : Buffer.concat(this.#parts)
    this.#parts = []
    this.#size = 0
    return whole
  }
}

/** The reason why received data is no frame. */
export class FrameFault extends Error {}

/** Returns the line that announces bytes. @param {Uint8Array} bytes */
export function announced(bytes) {
  return Buffer.from(`#${bytes.length}\n`)
}

/** Makes names distinct: the second `a` becomes `a_2`. @param {readonly string[]} names */
export function distinct(names) {
  const seen = new Set()
  return names.map((name) => {
    let unique = name
    for (let n = 2; seen.has(unique); n++) unique = `${name}_${n}`
    seen.add(unique)
    return unique
  })
}

/** The child's side of the channel: descriptor 3. */
export class DaemonChannel {
  #socket = new Socket({ fd: 3, readable: true, writable: true })

  /** @param {unknown} message @param {Uint8Array} [bytes] */
  say(message, bytes) {
    this.#socket.write(`${JSON.stringify(message)}\n`)
    if (!bytes) return
    this.#socket.write(announced(bytes))
    this.#socket.write(bytes)
  }

  /** Yields the daemon's messages, decoded, and bytes as they are. The daemon is trusted to stay within reason. */
  async *heard() {
    const frames = new Frames({ maxLine: 1 << 30, maxBytes: 1 << 30 })
    // Who hears enough still has answers on their way: the socket stays.
    for await (const data of this.#socket.iterator({ destroyOnReturn: false }))
      for (const frame of frames.take(data))
        yield frame.kind === 'line' ? JSON.parse(frame.data.toString('utf8')) : frame.data
  }

  /** Ends the process after all messages are sent. */
  end() {
    this.#socket.end(() => process.exit(0))
  }
}
