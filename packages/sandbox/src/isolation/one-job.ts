/** Untrusted work in a worker that does one job: a fresh process for each, ended afterwards. */
import { type Child, endedEarly } from './child.ts'
import { startWorker, type Worker } from './node-program.ts'
import { FairQueue, type Load, type TurnTaker } from '#leaf/fair-queue.ts'
import { Spare } from './spare.ts'

/** A worker and its bounds; `memoryMb` is for its data, besides what Node itself takes. */
interface JobOptions extends Pick<Worker, 'isolation' | 'worker' | 'packages' | 'what'> {
  readonly memoryMb: number
  readonly timeoutSeconds: number
  readonly maxAnswerBytes: number
}

/** A kind of job with a spare process ready for it. */
export class OneJob {
  /** Two at a time, because each may fill a processor. */
  protected readonly queue = new FairQueue(2)
  #options: JobOptions
  #spare: Spare<Child>
  #running = new Set<Child>()

  constructor(options: JobOptions) {
    this.#options = options
    this.#spare = new Spare(() => this.#start())
  }

  load(): Load {
    return this.queue.load()
  }

  /** Starts the worker once, to check that it can. */
  async probe(): Promise<void> {
    const child = await this.#start()
    child.kill()
    await child.ended
  }

  /** Runs one job in a worker. AppError when it overran its limits (`invalid`) or the caller left (`unavailable`). */
  protected async run<T>(
    caller: TurnTaker,
    job: (child: Child) => Promise<T>,
    seconds = this.#options.timeoutSeconds,
  ): Promise<T> {
    return await this.queue.use(caller, async (signal) => {
      const child = await this.#spare.take()
      this.#running.add(child)
      const late = `took longer than ${seconds} s and was given up`
      try {
        return await child.within(seconds * 1000, late, () =>
          child.workFor({ ...caller, signal }, () => job(child)),
        )
      } catch (error) {
        throw endedEarly(error, this.#options.what)
      } finally {
        child.kill()
        this.#running.delete(child)
      }
    })
  }

  async close(): Promise<void> {
    await this.#spare.close()
    const running = [...this.#running]
    for (const child of running) child.kill()
    await Promise.all(running.map((child) => child.ended))
  }

  #start(): Promise<Child> {
    const { isolation, worker, packages, memoryMb, maxAnswerBytes } = this.#options
    return startWorker({
      isolation,
      worker,
      packages,
      heapMb: Math.floor(memoryMb / 2),
      // 256 MiB are for Node itself.
      dataMb: memoryMb + 256,
      maxMessageBytes: maxAnswerBytes,
      what: 'the worker',
    })
  }
}
