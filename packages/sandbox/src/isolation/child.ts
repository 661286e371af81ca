/**
 * A child process that does one kind of untrusted work and speaks over descriptor 3 (`frames.mjs`).
 * Its output is hostile data: a message is small and its values are counted before it is
 * parsed, the unread ones are bounded in bytes, and nothing it sends names code or files of ours.
 */
import type { Duplex, Readable } from 'node:stream'
import { longestTimer } from '#leaf/deadline.ts'
import { AppError } from '#leaf/errors.ts'
import { cancelled, type Cost, type TurnTaker } from '#leaf/fair-queue.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import { announced, FrameFault, Frames, maxLine } from './frames.mjs'
import type { Job } from './cgroups.ts'
import { parseModest } from './modest-json.ts'

/** A running process, as seen from outside. */
export interface RunningChild {
  readonly channel: Duplex
  /** Its output. */
  readonly output: Readable
  /** Its error output, where that is separate. */
  readonly complaints?: Readable
  /** Settles with the way it ended, once it is gone and reaped. */
  readonly ended: Promise<string>
  readonly job?: Job | undefined
  kill(): void
}

/** Bounds on the messages and the output of a child. */
export interface SpeechLimits {
  /** The most bytes that are read as one; more end the child. A JSON message is smaller still (`maxLine`). */
  readonly maxMessageBytes: number
  /** The most bytes of output that are kept; twice as much ends the child. */
  readonly maxOutputBytes: number
}

/** The most bytes, and the most messages, that wait unread before the child has to wait. */
const queueBytes = 1_048_576
const queueLength = 32

/** Thrown by `receive` and `send` when the child has ended; `reason` tells why if we ended it. */
export class ChildEnded extends Error {
  readonly reason: string | undefined
  constructor(reason: string | undefined, detail: string) {
    super(detail)
    this.name = 'ChildEnded'
    this.reason = reason
  }
}

/** A running child process of ours. */
export class Child {
  /** Settles when the process is gone and reaped. */
  readonly ended: Promise<void>
  /** Settles when, besides, all its output has been read. */
  readonly finished: Promise<unknown>
  /** The way it ended, once it has. */
  status = ''
  /** The bytes of all its output, kept or not. */
  outputBytes = 0
  #running: RunningChild
  #channel: Duplex
  #options: SpeechLimits
  #frames: Frames
  #queue: ReturnType<Frames['take']> = []
  #queued = 0
  #waiting: (() => void)[] = []
  #closed = false
  #exited = false
  #cost: Cost | undefined
  #reason: string | undefined
  #output: Buffer[] = []
  #complaints = ''

  constructor(options: SpeechLimits, running: RunningChild) {
    this.#options = options
    this.#running = running
    this.#channel = running.channel
    const { maxMessageBytes: maxBytes } = options
    this.#frames = new Frames({ maxLine: Math.min(maxLine, maxBytes), maxBytes })
    running.output.on('error', () => {}).on('data', (data: Buffer) => this.#keep(data))
    running.complaints?.on('error', () => {}).on('data', (data: Buffer) => this.#hear(data))
    this.#channel.on('error', () => {}).on('data', (data: Buffer) => this.#read(data))
    this.#channel.on('close', () => this.#close())
    const read = new Promise((resolve) => running.output.once('close', resolve))
    this.ended = this.#end()
    this.finished = Promise.all([this.ended, read])
  }

  async #end(): Promise<void> {
    this.status = await this.#running.ended
    // A child that was ended for using too much has a cost as well.
    this.#cost = this.#running.job?.cost()
    void this.#running.job?.end()
    this.#exited = true
    // The last output may still be in the pipes; the end of the channel shows that it was all.
    setTimeout(() => this.#letGo(), 1000).unref()
  }

  get alive(): boolean {
    return !this.#closed && !this.#exited
  }

  /** The child's standard output, up to the limit. */
  get output(): Buffer {
    this.#output = [Buffer.concat(this.#output)]
    return this.#output[0]!
  }

  /** Sends the child a message, or bytes as they are; settles when it can take another one. */
  async send(message: unknown): Promise<void> {
    if (!this.alive) throw this.#gone()
    if (message instanceof Uint8Array) this.#channel.write(announced(message))
    const json = message instanceof WrittenJson ? message.text : undefined
    if (this.#channel.write(message instanceof Uint8Array ? message : `${json ?? JSON.stringify(message)}\n`))
      return
    await new Promise<void>((resolve) => {
      const go = (): void => {
        this.#channel.off('drain', go).off('close', go)
        resolve()
      }
      this.#channel.on('drain', go).on('close', go)
    })
  }

  /** Returns the child's next message. Throws `ChildEnded` when there will be none. */
  async receive(): Promise<unknown> {
    const line = await this.#next('line')
    try {
      return parseModest(line)
    } catch {
      throw this.#refused()
    }
  }

  /** Returns the bytes that the child sends next. Throws `ChildEnded` when it sends anything else. */
  async receiveBytes(): Promise<Buffer> {
    return await this.#next('bytes')
  }

  async #next(kind: 'line' | 'bytes'): Promise<Buffer> {
    while (this.#queue.length === 0) {
      if (this.#closed) {
        await this.ended
        throw this.#gone()
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    const frame = this.#queue.shift()!
    this.#queued -= frame.data.length
    if (this.#hasRoom()) this.#channel.resume()
    if (frame.kind !== kind) throw this.#refused()
    return frame.data
  }

  #hasRoom(): boolean {
    return this.#queued < queueBytes && this.#queue.length < queueLength
  }

  #refused(): ChildEnded {
    this.kill('sent what is not a message')
    return this.#gone()
  }

  /** Works for one caller until the caller leaves, and reports the cost. AppError `unavailable` when the caller left. */
  async workFor<R>({ signal, spent }: Omit<TurnTaker, 'user'>, work: () => Promise<R>): Promise<R> {
    const leave = (): void => this.kill('was stopped because the caller left')
    signal.addEventListener('abort', leave, { once: true })
    try {
      if (signal.aborted) throw cancelled(signal)
      return await work()
    } catch (error) {
      throw signal.aborted ? cancelled(signal) : error
    } finally {
      signal.removeEventListener('abort', leave)
      const cost = this.#exited ? this.#cost : this.#running.job?.cost()
      if (cost) spent?.(cost)
    }
  }

  /** Returns the result of work with the child, which is ended for this reason when that takes longer. */
  async within<R>(milliseconds: number, reason: string, work: () => Promise<R>): Promise<R> {
    const timer = setTimeout(() => this.kill(reason), Math.min(milliseconds, longestTimer))
    try {
      return await work()
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the child at once, with everything in its sandbox. */
  kill(reason?: string): void {
    this.#reason ??= reason
    if (this.#exited) return
    this.#running.kill()
    this.#close()
    this.#letGo()
  }

  /** Closes the streams: an unread stream would keep its descriptor for ever. */
  #letGo(): void {
    for (const stream of [this.#channel, this.#running.output, this.#running.complaints]) stream?.destroy()
  }

  #gone(): ChildEnded {
    const said = this.#complaints.trim().slice(-500)
    return new ChildEnded(this.#reason, [this.status || 'ended', said].filter(Boolean).join(': '))
  }

  #read(data: Buffer): void {
    try {
      for (const frame of this.#frames.take(data)) {
        this.#queue.push(frame)
        this.#queued += frame.data.length
      }
    } catch (error) {
      if (!(error instanceof FrameFault)) throw error
      this.kill(error.message)
      return
    }
    if (!this.#hasRoom()) this.#channel.pause()
    this.#wake()
  }

  #keep(data: Buffer): void {
    const { maxOutputBytes } = this.#options
    const room = maxOutputBytes - this.outputBytes
    this.outputBytes += data.length
    if (room > 0) this.#output.push(data.subarray(0, room))
    if (this.outputBytes > maxOutputBytes * 2) this.kill('wrote too much output')
    this.#wake()
  }

  #hear(data: Buffer): void {
    this.#complaints = (this.#complaints + data.toString('utf8')).slice(-4096)
    this.outputBytes += data.length
    if (this.outputBytes > this.#options.maxOutputBytes * 2) this.kill('wrote too much output')
  }

  /** Settles when the child has written that many bytes of output, has ended, or the time is up. */
  async written(bytes: number, milliseconds: number): Promise<void> {
    const deadline = performance.now() + milliseconds
    const timer = setTimeout(() => this.#wake(), milliseconds)
    while (!this.#closed && this.outputBytes < bytes && performance.now() < deadline) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    clearTimeout(timer)
  }

  #close(): void {
    this.#closed = true
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resume of waiting) resume()
  }
}

/** Makes the caller's error for a child that ended without an answer: the same work would end it again. */
export function endedEarly(
  error: unknown,
  what: string,
  code: 'invalid' | 'unavailable' = 'invalid',
): unknown {
  if (!(error instanceof ChildEnded)) return error
  return new AppError(code, `${what} ${error.reason ?? 'ended before it answered'}`, { cause: error })
}
