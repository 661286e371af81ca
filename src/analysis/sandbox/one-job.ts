/** Untrusted work that a worker does once: a fresh process a job, ended afterwards. */
import { AppError } from '../../core/errors.ts'
import type { Isolation } from './bubblewrap.ts'
import { type Child, endedEarly } from './child.ts'
import { viewForWorker, workerProgram } from './node-program.ts'
import { type TurnTaker, cancelled, FairQueue } from '../../core/fair-queue.ts'
import { Spares } from './spares.ts'
import { spawnChild } from './spawned.ts'

/** A worker and its bounds; `memoryMb` is for its data, besides what Node itself takes. */
export interface WorkerOptions {
  readonly isolation: Isolation
  /** The path of a plain `.mjs` file. */
  readonly worker: string
  /** The packages that it imports. */
  readonly packages: readonly string[]
  readonly memoryMb: number
  readonly timeoutSeconds: number
  readonly maxAnswerBytes: number
  /** What it works on, for messages: `the file`. */
  readonly what: string
}

/** A kind of job with a process kept ready for it. */
export class OneJob {
  /** Two at a time, because each may fill a processor. */
  readonly queue = new FairQueue(2)
  #options: WorkerOptions
  #spares: Spares<Child>
  #running = new Set<Child>()

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#spares = new Spares(
      1,
      () => this.#start(),
      (child) => child.kill(),
    )
  }

  /** Starts the worker once, to know that it can. */
  async probe(): Promise<void> {
    const child = await this.#start()
    child.kill()
    await child.ended
  }

  /** Lets a worker do one job. AppError when it overran its limits (`invalid`) or the caller left (`unavailable`). */
  async run<T>(
    caller: TurnTaker,
    job: (child: Child) => Promise<T>,
    seconds = this.#options.timeoutSeconds,
  ): Promise<T> {
    const { signal } = caller
    return await this.queue.use(caller, async () => {
      const child = await this.#spares.take()
      this.#running.add(child)
      const leave = (): void => child.kill()
      const timer = setTimeout(
        () => child.kill(`took longer than ${seconds} s and was given up`),
        seconds * 1000,
      )
      signal.addEventListener('abort', leave, { once: true })
      try {
        if (signal.aborted) throw cancelled()
        return await job(child)
      } catch (error) {
        if (signal.aborted) throw cancelled()
        throw endedEarly(error, this.#options.what)
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        child.tellCost(caller.spent)
        child.kill()
        this.#running.delete(child)
      }
    })
  }

  async close(): Promise<void> {
    await this.#spares.close()
    const running = [...this.#running]
    for (const child of running) child.kill()
    await Promise.all(running.map((child) => child.ended))
  }

  async #start(): Promise<Child> {
    const { isolation, worker, packages, memoryMb, maxAnswerBytes } = this.#options
    const view = viewForWorker(worker, packages)
    const child = spawnChild({
      isolation,
      view,
      program: workerProgram(worker, view, Math.floor(memoryMb / 2)),
      // 256 MiB for Node's own, and no file may be written: what it has to say goes through the channel.
      limits: { dataBytes: (memoryMb + 256) * 1_048_576, fileBytes: 0, openFiles: 1024 },
      maxMessageBytes: maxAnswerBytes,
      maxOutputBytes: 16_384,
    })
    const timer = setTimeout(() => child.kill('took too long to start'), 30_000)
    try {
      const ready = (await child.receive()) as { ready?: unknown }
      if (ready.ready !== true) throw new AppError('unavailable', 'the worker did not start as it should')
      return child
    } catch (error) {
      child.kill()
      throw endedEarly(error, 'the worker', 'unavailable')
    } finally {
      clearTimeout(timer)
    }
  }
}
