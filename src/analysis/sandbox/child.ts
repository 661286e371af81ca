/**
 * A child process that does one kind of untrusted work and speaks JSON lines over descriptor 3.
 * Whatever it says is data from an enemy: sizes are bounded, a flood ends the child, and nothing it
 * sends names code or files of ours.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import process from 'node:process'
import type { Duplex } from 'node:stream'
import { AppError } from '../../core/errors.ts'
import { bubblewrapArgs, type Isolation, userFor, type View } from './bubblewrap.ts'

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
  /** The largest message that is read; a longer one ends the child. */
  readonly maxMessageBytes: number
  /** What of its output is kept; twice as much ends the child. */
  readonly maxOutputBytes: number
}

/** How many messages wait unread before the child has to. */
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
  #parts: Buffer[] = []
  #partBytes = 0
  #messages: Buffer[] = []
  #waiting: (() => void)[] = []
  #closed = false
  #exited = false
  #reason: string | undefined
  #output: Buffer[] = []
  #complaints = ''

  constructor(options: ChildOptions) {
    this.#options = options
    const { isolation, view, program } = options
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

  /** Hands the child a message; settles when it can take another one. */
  async send(message: unknown): Promise<void> {
    if (!this.alive) throw this.#gone()
    const line = `${JSON.stringify(message)}\n`
    if (this.#channel.write(line)) return
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
    while (this.#messages.length === 0) {
      if (this.#closed) {
        await this.ended
        throw this.#gone()
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    const line = this.#messages.shift()!
    if (this.#messages.length < queueLength) this.#channel.resume()
    try {
      return JSON.parse(line.toString('utf8'), withoutProto)
    } catch {
      this.kill('sent what is not a message')
      throw this.#gone()
    }
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
    let rest = data
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      this.#messages.push(Buffer.concat([...this.#parts, rest.subarray(0, end)]))
      this.#parts = []
      this.#partBytes = 0
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) this.#parts.push(rest)
    this.#partBytes += rest.length
    if (this.#partBytes > this.#options.maxMessageBytes) {
      this.kill('sent too large a message')
      return
    }
    if (this.#messages.length >= queueLength) this.#channel.pause()
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

/** What a caller is told when a child ended without an answer. */
export function endedEarly(error: unknown, what: string): unknown {
  if (!(error instanceof ChildEnded)) return error
  return new AppError('unavailable', `${what} ${error.reason ?? 'ended before it answered'}`, {
    cause: error,
  })
}

/** A key that would reach an object's prototype when it is copied by assignment. */
function withoutProto(this: unknown, key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
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
