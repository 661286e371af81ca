/**
 * A module of the site beside the daemon, in a process of its own: a failure of it affects only its own tools. It asks
 * the daemon for whatever it may reach, by the functions of the call that it works on.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { extname } from 'node:path'
import process from 'node:process'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { serialize } from 'node:v8'
import { asJson } from '#leaf/as-json.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { Frames } from '#sandbox/frames.ts'
import { placeText, SiteFault } from '#site/checking.ts'
import { type Fault, fileFault } from '#site/site-files.ts'
import { type Bundle, thrownAt } from './bundle.ts'
import {
  type Announced,
  type FromModule,
  mostBytes,
  type Settlement,
  type Thrown,
  type ToModule,
} from './messages.ts'

/** Milliseconds between two pings of a module, and the number of pings that it may miss. */
const tickMilliseconds = 5000
const mostMissed = 2
/** Milliseconds in which a busy module has to report its place in the code. */
const whereMilliseconds = 3000
/** The number of ticks in which it has to be loaded. */
const mostLoading = 6
/** Kilobytes beside the heap and twice Node's own, which reserves more for a moment: with a worker 65 MB in v22, 1100 in v24. */
const besideHeap = 200 * 1024
const takenByNode = String.raw`
new (require("worker_threads").Worker)("1", { eval: true }).on("online", () =>
  console.log(require("fs").readFileSync("/proc/self/status", "utf8").match(/VmData:\s+(\d+)/)[1]))`

/** A call of a tool, and what it may use until it is answered. */
export interface ModuleCall {
  readonly tool: string
  readonly args: unknown
  /** Values that the tool finds in its context. */
  readonly given: object
  /** Functions of its context that answer, one after the other; `a.b` is the function `b` of a member `a`. */
  readonly asks: Readonly<Record<string, (...params: never[]) => Promise<unknown>>>
  /** Functions of its context that answer nothing. */
  readonly tells: Readonly<Record<string, (...params: never[]) => void>>
  /** True for an error of `asks` that is no answer, but ends the call. */
  readonly isEnd: (error: unknown) => boolean
  readonly signal: AbortSignal
  /** The name of the call in the log. */
  readonly requestId: string
}

interface RunningCall {
  readonly of: ModuleCall
  readonly settle: (settled: Settlement | { readonly failed: unknown }) => void
  /** Settles after the last request of the call: its requests are handled in order. */
  last: Promise<unknown>
}

export interface ProcessParts {
  readonly bundle: Bundle
  readonly memoryMegabytes: number
  /** The name of the setting that says how many. */
  readonly memorySetting: string
  readonly log: Log
  /** Reports that the process has ended, unless it was closed. */
  readonly onFault: (fault: SiteFault) => void
  readonly tick?: number
}

/** The process of a module: started by `start`, and again after it has ended. */
export class ModuleProcess {
  readonly #parts: ProcessParts
  #child: ChildProcess | undefined
  #starting: { resolve(tools: readonly Announced[]): void; reject(fault: SiteFault): void } | undefined
  #calls = new Map<number, RunningCall>()
  #lastCall = 0
  #missed = 0
  #ticking: NodeJS.Timeout | undefined
  #said = ''
  #leaving = false

  constructor(parts: ProcessParts) {
    this.#parts = parts
  }

  get runs(): boolean {
    return this.#child !== undefined
  }

  /** Returns the error for calls while the process is not there. */
  #away(): AppError {
    const { file } = this.#parts.bundle
    return new AppError('unavailable', `the module ${file} of this tool is being started again`)
  }

  /** Starts the process and loads the module; rejects with a SiteFault. */
  start(): Promise<readonly Announced[]> {
    const { bundle, memoryMegabytes: heap, tick = tickMilliseconds } = this.#parts
    this.close()
    return new Promise((resolve, reject) => {
      this.#starting = { resolve, reject }
      const program = fileURLToPath(new URL(`./module-child${extname(import.meta.url)}`, import.meta.url))
      const translator = program.endsWith('.ts') ? ['--import', import.meta.resolve('tsx')] : []
      const node = [process.execPath, `--max-old-space-size=${heap}`, ...translator, program]
      const limited = `taken=$("$1" -e '${takenByNode}'); ulimit -d $((\${taken:-0} * 2 + ${heap * 1024 + besideHeap})); exec "$@"`
      const child = spawn('/bin/sh', ['-c', limited, 'sh', ...node], {
        stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      })
      this.#child = child
      this.#said = ''
      this.#missed = 0
      const ended = (why: string): void => this.#failed(child, why)
      const frames = new Frames({ maxLine: mostBytes, maxBytes: mostBytes })
      const channel = child.stdio[3] as Duplex
      channel.on('data', (data: Buffer) => {
        try {
          for (const { data: line } of frames.take(data))
            if (child === this.#child) this.#hear(child, JSON.parse(line.toString()) as FromModule)
        } catch (error) {
          ended(`it sent what is no message: ${messageOf(error)}`)
        }
      })
      child.on('error', (error) => ended(messageOf(error)))
      child.on('exit', (code, signal) => ended(this.#endingOf(code, signal)))
      for (const stream of [child.stdout!, child.stderr!])
        stream.on('error', () => undefined).on('data', (data: Buffer) => this.#tellOutput(data.toString()))
      for (const stream of [channel, child.stdio[4]!]) stream.on('error', () => undefined)
      this.#tell({ load: bundle.text })
      const patience = tick * mostLoading
      const late = `it is not loaded after ${patience / 1000} s: what does it wait for?`
      setTimeout(() => child === this.#child && this.#starting && ended(late), patience).unref()
    })
  }

  /** Returns the answer of a module's tool. AppError `unavailable` when the module fails; passes on errors that end the call. */
  async call(call: ModuleCall): Promise<unknown> {
    if (!this.#child || this.#starting) throw this.#away()
    const { signal, tool, args, given } = call
    signal.throwIfAborted()
    const id = ++this.#lastCall
    const leave = (): void => this.#drop(id)
    try {
      return await new Promise((resolve, reject) => {
        signal.addEventListener('abort', leave, { once: true })
        const settle: RunningCall['settle'] = (settled) => {
          this.#calls.delete(id)
          if (this.#leaving) this.leave()
          if ('failed' in settled) reject(settled.failed)
          else if ('thrown' in settled) reject(this.#errorOf(call, settled.thrown))
          else resolve(settled.value)
        }
        this.#calls.set(id, { of: call, settle, last: Promise.resolve() })
        const [asks, tells] = [Object.keys(call.asks), Object.keys(call.tells)]
        this.#tell({ call: id, tool, args, given: serialize(given).toString('base64'), asks, tells })
      })
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Drops a call that nobody waits for: nothing more is done for it. */
  #drop(id: number): void {
    this.#calls.get(id)?.settle({ failed: new Error('the call has ended') })
    this.#tell({ cancel: id })
  }

  #tell(message: ToModule): void {
    // A process that is gone is reported when its end is noticed.
    const channel = this.#child?.stdio[3] as Duplex | undefined
    if (channel?.writable) channel.write(`${JSON.stringify(message)}\n`)
  }

  #hear(child: ChildProcess, message: FromModule): void {
    if ('pong' in message) {
      this.#missed = 0
      this.#ticking ??= setInterval(() => this.#tick(child), this.#parts.tick ?? tickMilliseconds).unref()
    } else if ('tools' in message) {
      this.#starting?.resolve(message.tools)
      this.#starting = undefined
    } else if ('fatal' in message) this.#ended(child, thrownAt(this.#parts.bundle, message.fatal))
    else if ('resultOf' in message) this.#calls.get(message.resultOf)?.settle(message)
    else if ('question' in message) this.#answer(message)
    else {
      const tells = this.#calls.get(message.of)?.of.tells ?? {}
      if (Object.hasOwn(tells, message.verb)) tells[message.verb]!(...(message.params as never[]))
    }
  }

  #answer({ question, call: id, verb, params }: Extract<FromModule, { question: number }>): void {
    const call = this.#calls.get(id)
    const settle = (settled: Settlement): void => this.#tell({ answerTo: question, ...settled })
    const refuse = (error: unknown): void => {
      if (call?.of.isEnd(error)) {
        call.settle({ failed: error })
        return this.#tell({ cancel: id })
      }
      if (error instanceof AppError)
        return settle({ thrown: { message: error.message, stack: '', code: error.code } })
      this.#parts.log.error('a question of a module failed', { error })
      settle({ thrown: { message: 'internal error', stack: '' } })
    }
    if (!call) return refuse(new AppError('conflict', 'the call has ended'))
    const act = async (): Promise<void> => {
      // The call may have ended while earlier requests of it were handled.
      if (!this.#calls.has(id)) throw new AppError('conflict', 'the call has ended')
      const { asks } = call.of
      if (!Object.hasOwn(asks, verb)) throw new AppError('invalid', `${verb}: there is no such verb`)
      settle({ value: asJson(await asks[verb]!(...(params as never[]))) })
    }
    call.last = call.last.then(act).catch(refuse)
  }

  #tick(child: ChildProcess): void {
    if (this.#missed++ < mostMissed) return this.#tell({ ping: true })
    clearInterval(this.#ticking)
    const { placeOf } = this.#parts.bundle
    const end = (place?: readonly [number, number]): void =>
      this.#failed(child, 'it loops, or computes without ever pausing', place && placeOf(...place))
    const line = child.stdio[4] as Duplex
    line.once('data', (data: Buffer) => {
      const places = [...data.toString().matchAll(/\[(\d+),(\d+)\]/g)].map(
        ([, line, column]) => [Number(line), Number(column)] as const,
      )
      end(places.find((place) => placeOf(...place)))
    })
    line.write('?')
    setTimeout(end, whereMilliseconds).unref()
  }

  #failed(child: ChildProcess, why: string, at?: Partial<Fault>): void {
    this.#ended(child, new SiteFault({ ...fileFault(this.#parts.bundle.file, why), ...at }))
  }

  /** Ends the process once and tells everybody who waited for it why. */
  #ended(child: ChildProcess, told: SiteFault): void {
    if (child !== this.#child) return
    const starting = this.#stop()
    const text = `the module of this tool failed at ${placeText(told.fault)}; why is in the log of the service`
    for (const { settle } of this.#calls.values())
      settle({ failed: new AppError('unavailable', text, { cause: told }) })
    if (starting) starting.reject(told)
    else this.#parts.onFault(told)
  }

  #endingOf(code: number | null, signal: string | null): string {
    if (this.#said.includes('heap out of memory'))
      return `it needs more than the ${this.#parts.memoryMegabytes} MB of ${this.#parts.memorySetting}`
    return `its process ended by itself (${signal ?? `exit ${code}`})`
  }

  #tellOutput(text: string): void {
    this.#said = (this.#said + text).slice(-4000)
    const { bundle, log } = this.#parts
    log.info('a module of the site says', { module: bundle.file, text: text.trimEnd().slice(0, 1000) })
  }

  /** Makes the error that a tool of the module threw. */
  #errorOf({ tool, requestId }: ModuleCall, thrown: Thrown): Error {
    const { code, message } = thrown
    if (code !== undefined) return new AppError(code as AppError['code'], message)
    const error = thrownAt(this.#parts.bundle, thrown)
    const place = placeText(error.fault)
    this.#parts.log.error('a tool of a module failed', { tool, request_id: requestId, place, error })
    const text = `${tool} failed at ${place}; it was logged as request ${requestId}`
    return new AppError('unavailable', text, { cause: error })
  }

  /** Kills the process and stops listening to it; the caller answers whoever waited for its start. */
  #stop() {
    const starting = this.#starting
    clearInterval(this.#ticking)
    this.#child?.kill('SIGKILL')
    this.#child = this.#starting = this.#ticking = undefined
    return starting
  }

  /** Ends the process; running calls fail. */
  close(): void {
    this.#stop()?.reject(new SiteFault(fileFault(this.#parts.bundle.file, 'it was ended')))
    for (const { settle } of this.#calls.values()) settle({ failed: this.#away() })
  }

  /** Ends the process after its running calls, for which others still wait. */
  leave(): void {
    this.#leaving = true
    if (this.#calls.size === 0) this.close()
  }
}
