/**
 * Python for analysts' models (D7): CPython under bubblewrap, a fork of a loaded interpreter for each
 * program (`zygote.ts`). The program reaches the service only by calling tools, through the same
 * gate as its caller.
 */
import { existsSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { longestTimer } from '#leaf/deadline.ts'
import { AppError } from '#leaf/errors.ts'
import type { Column } from '../tables.ts'
import type { Isolation } from '../isolation/bubblewrap.ts'
import { type Child, ChildEnded } from '../isolation/child.ts'
import { type Load, FairQueue, type TurnTaker } from '#leaf/fair-queue.ts'
import { kernelBytes } from '../isolation/spawned.ts'
import type { SandboxSettings } from '../settings.ts'
import { type Done, isPng, type PythonError, readMessage, type ToolCall } from './protocol.ts'
import { Zygote } from './zygote.ts'

type Rows = readonly (readonly unknown[])[]

/** A program and its input. */
export interface PythonProgram {
  readonly code: string
  /** The rows that the program finds as `data` (a list of dicts) and, with pandas, as `df`. */
  readonly data?: {
    readonly columns: readonly Column[]
    /** In pages, so that few rows are in memory here. */
    readonly pages: AsyncIterable<Rows> | Iterable<Rows>
  }
  readonly returnVariables?: readonly string[]
  readonly captureOutput?: boolean
  /** Milliseconds that the program may run. */
  readonly timeout?: number
  /** Answers the program's tool calls; without it there are none. */
  readonly callTool?: (name: string, args: Readonly<Record<string, unknown>>) => Promise<ToolAnswer>
  /** The owner of the program: one owner does not take all places. */
  readonly owner?: string
  readonly signal: AbortSignal
  readonly spent?: TurnTaker['spent']
}

/** The answer of a called tool, as text. */
export interface ToolAnswer {
  readonly text: string
  readonly isError: boolean
}

/** The result of a program. */
export interface PythonResult {
  readonly error?: PythonError
  readonly result?: string
  readonly output: string
  /** The bytes of output that were dropped. */
  readonly outputDropped: number
  readonly variables: Readonly<Record<string, unknown>>
  /** Variables that could not be returned, and the reasons. */
  readonly problems: Readonly<Record<string, string>>
  /** PNG files in base64. */
  readonly images: readonly string[]
  readonly toolCalls: number
  readonly milliseconds: number
}

const maxCode = 200_000
const maxImage = 3_000_000
/** Milliseconds after which a program that ignores its own alarm is killed. */
const grace = 1000

/** The Python engine: runs programs in forks of an interpreter. */
export class Python {
  /** The versions of Python and of the libraries that were found. */
  versions: Readonly<Record<string, string>> = {}
  #isolation: Isolation
  #settings: SandboxSettings['python']
  #queue: FairQueue
  #zygote: Promise<Zygote> | undefined
  #running = new Set<Child>()

  constructor(isolation: Isolation, settings: SandboxSettings['python']) {
    this.#isolation = isolation
    this.#settings = settings
    this.#queue = new FairQueue(settings.max_concurrent)
  }

  /** The seconds that a program may take, and the most that a call may ask for. */
  get seconds(): { readonly usual: number; readonly most: number } {
    const { timeout_seconds: usual, max_timeout_seconds: most } = this.#settings
    return { usual: Math.min(usual, most), most }
  }

  /** The bound on the kernel's memory for a program's files, for `doctor`. */
  get bounds(): string {
    const { cgroups = 'nobody looked' } = this.#isolation
    return typeof cgroups === 'object'
      ? 'a cgroup for each program, file, chart and process of SQL'
      : `scratch bounded to ${this.#settings.scratch_mb} MB and 10000 files, without a cgroup (${cgroups}); what reads files, draws charts and runs SQL can make none`
  }

  load(): Load {
    return this.#queue.load()
  }

  /** Starts an interpreter once, so that a machine where it cannot run is known before the tool is offered. */
  async probe(): Promise<void> {
    if (!existsSync(this.#settings.interpreter))
      throw new AppError('unavailable', `there is no ${this.#settings.interpreter}`)
    const child = await this.#forked()
    child.kill()
    await child.ended
  }

  /**
   * Runs a program. A fault of the program is a result with `error`; AppError `unavailable` only when it
   * could not be run at all or the caller left.
   */
  async run(program: PythonProgram): Promise<PythonResult> {
    if (program.code.length > maxCode)
      throw new AppError('invalid', `the program is longer than ${maxCode} characters`)
    const work = async (signal: AbortSignal): Promise<PythonResult> => {
      const given = { ...program, signal }
      const child = await this.#forked()
      this.#running.add(child)
      try {
        return await child.workFor(given, () => this.#converse(child, given))
      } finally {
        child.kill()
        this.#running.delete(child)
      }
    }
    return await this.#queue.use({ user: program.owner ?? '', signal: program.signal }, work)
  }

  async close(): Promise<void> {
    const zygote = await this.#zygote?.catch(() => undefined)
    this.#zygote = undefined
    await zygote?.close()
    await Promise.all([...this.#running].map((child) => child.ended))
  }

  async #converse(child: Child, program: PythonProgram): Promise<PythonResult> {
    const started = performance.now()
    const settings = this.#settings
    const timeout = Math.min(
      program.timeout ?? settings.timeout_seconds * 1000,
      settings.max_timeout_seconds * 1000,
    )
    const timer = setTimeout(() => child.kill('ran out of time'), Math.min(timeout + grace, longestTimer))
    let toolCalls = 0
    const finish = (
      done: Partial<Done> & Pick<Done, 'error'>,
      images: readonly string[] = [],
    ): PythonResult => ({
      ...(done.error && { error: done.error }),
      ...(typeof done.result === 'string' && { result: done.result }),
      output: child.output.toString('utf8'),
      outputDropped: Math.max(done.dropped ?? 0, child.outputBytes - child.output.length),
      variables: done.variables ?? {},
      problems: done.problems ?? {},
      images,
      toolCalls,
      milliseconds: performance.now() - started,
    })
    try {
      await child.send(jobOf(program, settings, timeout))
      await sendData(child, program.data)
      // The wait for the data does not count as the program's time.
      timer.refresh()
      for (;;) {
        const message = readMessage(await child.receive())
        if (message === undefined) return finish({ error: stopped('said what it cannot say') })
        if ('done' in message) {
          const images: string[] = []
          while (images.length < message.done.images) {
            const image = await child.receiveBytes()
            if (!isPng(image)) return finish({ error: stopped('said what it cannot say') })
            images.push(image.toString('base64'))
          }
          await child.written(message.done.written, 250)
          return finish(message.done, images)
        }
        toolCalls += 1
        if (toolCalls > settings.max_tool_calls)
          return finish({ error: stopped(`called tools more than ${settings.max_tool_calls} times`) })
        await child.send(await answerTo(message, program))
      }
    } catch (error) {
      if (error instanceof ChildEnded && !program.signal.aborted)
        return finish({ error: ended(error, timeout) })
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Forks a process for a program; starts the interpreter if there is none. */
  async #forked(): Promise<Child> {
    const { max_output_bytes: maxOutputBytes } = this.#settings
    for (let tries = 0; ; tries++) {
      this.#zygote ??= this.#start()
      const zygote = await this.#zygote
      try {
        if (zygote.alive) return await zygote.fork({ maxMessageBytes: maxImage, maxOutputBytes })
      } catch (error) {
        if (tries > 0) throw error
      }
      this.#zygote = undefined
    }
  }

  async #start(): Promise<Zygote> {
    const { interpreter, scratch_mb: scratch, memory_mb: memory } = this.#settings
    try {
      if (this.#isolation.kind !== 'bubblewrap') throw new AppError('unavailable', this.#isolation.reason)
      const zygote = await Zygote.start(
        this.#isolation,
        interpreter,
        viewFor(this.#settings, scratch * 1_048_576),
        (memory + scratch) * 1_048_576 + kernelBytes,
      )
      this.versions = zygote.versions
      return zygote
    } catch (error) {
      this.#zygote = undefined
      throw error
    }
  }
}

function viewFor(settings: SandboxSettings['python'], scratchBytes: number) {
  return {
    show: settings.paths,
    showIfThere: ['/etc/fonts', '/etc/matplotlibrc'],
    environment: {
      PATH: '/usr/bin',
      HOME: '/tmp',
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      MPLBACKEND: 'Agg',
      MPLCONFIGDIR: '/tmp/matplotlib',
      // One thread each: their pools would count against the limits of processes and memory.
      OPENBLAS_NUM_THREADS: '1',
      OMP_NUM_THREADS: '1',
    },
    scratchBytes,
  }
}

function jobOf(
  program: PythonProgram,
  settings: SandboxSettings['python'],
  timeout: number,
): Readonly<Record<string, unknown>> {
  const { data } = program
  return {
    code: program.code,
    timeout: timeout / 1000,
    memory: settings.memory_mb * 1_048_576,
    file_bytes: Math.min(settings.scratch_mb, 16) * 1_048_576,
    output_bytes: settings.max_output_bytes,
    capture: program.captureOutput ?? true,
    return: program.returnVariables ?? [],
    ...(data && {
      data: {
        columns: data.columns.map(({ name }) => name),
        types: data.columns.map(({ type }) => type),
        places: data.columns.map(({ places = 0 }) => places),
      },
    }),
  }
}

/** Sends the data in parts, with room for others in between: writing much JSON holds the event loop. */
async function sendData(child: Child, data: PythonProgram['data']): Promise<void> {
  if (!data) return
  for await (const rows of data.pages) {
    // By column: half the bytes of records, and the form of a data frame.
    await child.send(data.columns.map((_, index) => rows.map((row) => row[index] ?? null)))
    await setImmediate()
  }
  await child.send(null)
}

async function answerTo(
  { call, arguments: args }: ToolCall,
  program: PythonProgram,
): Promise<{ text: string; error: boolean }> {
  if (!program.callTool) return { text: 'tools cannot be called from here', error: true }
  const { text, isError } = await program.callTool(call, args)
  return { text, error: isError }
}

function ended(error: ChildEnded, timeout: number): PythonError {
  if (error.reason === 'ran out of time')
    return { ...stopped(`took longer than ${timeout / 1000} s`), type: 'TimeoutError' }
  return stopped(error.reason ?? `ended before it answered (${error.message.split(':')[0]})`)
}

function stopped(reason: string): PythonError {
  return { type: 'Stopped', message: `the program ${reason} and was stopped`, line: null, traceback: '' }
}
