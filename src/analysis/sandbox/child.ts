/**
 * A child process that does one kind of untrusted work and speaks over descriptor 3 (`frames.mjs`).
 * Whatever it says is data from an enemy: a message is small and its values are counted before it is
 * parsed, what waits is bounded in bytes, and nothing it sends names code or files of ours.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import process from 'node:process'
import type { Duplex } from 'node:stream'
import { AppError } from '../../core/errors.ts'
import { bubblewrapArgs, type Isolation, userFor, type View } from './bubblewrap.ts'
import { announced, FrameFault, Frames, maxLine } from './frames.mjs'
import { parseModest } from './modest-json.ts'

/** Limits that the kernel keeps for the process. */
export interface ProcessLimits {
  /** Bytes of private memory (RLIMIT_DATA); address space that is only reserved does not count. */
  readonly dataBytes?: number
  readonly fileBytes: number
  readonly openFiles: number
  readonly cpuSeconds?: number
}

/** A program, how it is shut off, and what it may use up or say. */
export interface ChildOptions {
  readonly isolation: Isolation
  readonly view: View
  readonly program: readonly string[]
  readonly limits: ProcessLimits
  /** What it finds on standard input; nothing without it. */
  readonly input?: Uint8Array
  /** The most bytes that are read as one; more end the child. A message of JSON is smaller still (`maxLine`). */
  readonly maxMessageBytes: number
  /** What of its output is kept; twice as much ends the child. */
  readonly maxOutputBytes: number
}

/** How many bytes, and how many messages, wait unread before the child has to. */
const queueBytes = 1_048_576
const queueLength = 32

/** Thrown by `receive` and `send` when the child has ended; `reason` says why when we ended it. */
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
  readonly pid: number | undefined
  /** Settles when the process is gone and reaped. */
  readonly ended: Promise<void>
  /** Settles when, besides, everything that it wrote has been read. */
  readonly finished: Promise<void>
  /** How it ended, once it has. */
  status = ''
  /** All that it wrote, kept or not. */
  outputBytes = 0
  #process: ChildProcess
  #channel: Duplex
  #options: ChildOptions
  #frames: Frames
  #queue: ReturnType<Frames['take']> = []
  #queued = 0
  #waiting: (() => void)[] = []
  #closed = false
  #exited = false
  #reason: string | undefined
  #output: Buffer[] = []
  #complaints = ''

  constructor(options: ChildOptions) {
    this.#options = options
    const { isolation, view, program, maxMessageBytes: maxBytes } = options
    this.#frames = new Frames({ maxLine: Math.min(maxLine, maxBytes), maxBytes })
    const command =
      isolation.kind === 'bubblewrap'
        ? [isolation.path, ...bubblewrapArgs(isolation, view), ...program]
        : [...program]
    this.#process = spawn('/bin/sh', ['-c', `${ulimits(options.limits)}exec "$@"`, 'sh', ...command], {
      cwd: '/',
      env: isolation.kind === 'bubblewrap' ? {} : { ...view.environment },
      // Its own process group, so that all of it can be killed at once.
      detached: true,
      stdio: [options.input ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      ...(isolation.kind === 'bubblewrap' ? userFor(isolation, view) : undefined),
    })
    this.pid = this.#process.pid
    this.#channel = this.#process.stdio[3] as Duplex
    const seccomp = this.#process.stdio[4] as Duplex
    seccomp.on('error', () => {}).end(isolation.kind === 'bubblewrap' ? isolation.seccomp : undefined)
    seccomp.resume()
    this.#process.stdin?.on('error', () => {}).end(options.input)
    this.#process.stdout?.on('error', () => {}).on('data', (data: Buffer) => this.#keep(data))
    this.#process.stderr?.on('error', () => {}).on('data', (data: Buffer) => this.#hear(data))
    this.#channel.on('error', () => {}).on('data', (data: Buffer) => this.#read(data))
    this.#channel.on('close', () => this.#close())
    this.finished = new Promise((resolve) => this.#process.once('close', () => resolve()))
    this.ended = new Promise((resolve) => {
      this.#process.once('error', (error) => {
        this.status = error.message
        this.#close()
        resolve()
      })
      this.#process.once('exit', (code, signal) => {
        this.status = signal ? `killed by ${signal}` : `ended with code ${code}`
        this.#exited = true
        // What it said last may still be in the pipes; the channel's own end says that it was all.
        setTimeout(() => this.#letGo(), 1000).unref()
        resolve()
      })
    })
  }

  get alive(): boolean {
    return !this.#closed && !this.#exited
  }

  /** What it wrote to standard output, up to the limit. */
  get output(): Buffer {
    this.#output = [Buffer.concat(this.#output)]
    return this.#output[0]!
  }

  /** Hands the child a message, or bytes as they are; settles when it can take another one. */
  async send(message: unknown): Promise<void> {
    if (!this.alive) throw this.#gone()
    if (message instanceof Uint8Array) this.#channel.write(announced(message))
    if (this.#channel.write(message instanceof Uint8Array ? message : `${JSON.stringify(message)}\n`)) return
    await new Promise<void>((resolve) => {
      const go = (): void => {
        this.#channel.off('drain', go).off('close', go)
        resolve()
      }
      this.#channel.on('drain', go).on('close', go)
    })
  }

  /** The child's next message. Throws `ChildEnded` when there will be none. */
  async receive(): Promise<unknown> {
    const line = await this.#next('line')
    try {
      return parseModest(line)
    } catch {
      throw this.#refused()
    }
  }

  /** Bytes that the child sends next. Throws `ChildEnded` when it sends anything else. */
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

  /** Ends the child at once, with everything in its sandbox. */
  kill(reason?: string): void {
    this.#reason ??= reason
    if (this.pid === undefined || this.#process.exitCode !== null || this.#process.signalCode !== null) return
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch {
      this.#process.kill('SIGKILL')
    }
    this.#close()
    this.#letGo()
  }

  /** A stream that nobody reads would keep its descriptor for ever. */
  #letGo(): void {
    for (const stream of this.#process.stdio) stream?.destroy()
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

/** What a caller is told when a child ended without an answer: the same work would end it again. */
export function endedEarly(
  error: unknown,
  what: string,
  code: 'invalid' | 'unavailable' = 'invalid',
): unknown {
  if (!(error instanceof ChildEnded)) return error
  return new AppError(code, `${what} ${error.reason ?? 'ended before it answered'}`, { cause: error })
}

/** The POSIX shell sets limits on every Unix, without a further program. */
function ulimits(limits: ProcessLimits): string {
  const set = [
    'ulimit -c 0',
    `ulimit -f ${Math.ceil(limits.fileBytes / 512)}`,
    `ulimit -n ${limits.openFiles}`,
    // Other systems count differently, and have no such sandbox anyway.
    ...(limits.dataBytes === undefined || process.platform !== 'linux'
      ? []
      : [`ulimit -d ${Math.ceil(limits.dataBytes / 1024)}`]),
    ...(limits.cpuSeconds === undefined ? [] : [`ulimit -t ${Math.ceil(limits.cpuSeconds)}`]),
  ]
  return set.map((line) => `${line} || exit 126; `).join('')
}
