/**
 * Renders templates that a caller wrote in worker threads, never in the daemon's own. There are a few, started when
 * first needed; each user has one preview at a time, and a thread is ended when a preview takes too long. A thread
 * sees only the body that it renders; it asks for what it has to know of documents.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type Clock, clockOfThread } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { FairQueue } from '#leaf/fair-queue.ts'
import type { LinkCheck } from './arguments.ts'
import type { FromPreviewThread, ToPreviewThread } from './preview-thread.ts'

/** Milliseconds that a preview may keep a thread busy before it is ended. */
const killMilliseconds = 250
/**
 * Milliseconds that it may last, where the system tells how much of them the thread had a processor. Threads stand
 * behind the one that answers requests: on a busy machine they get a tenth of one.
 */
const lastsMilliseconds = 5000

const threads = 2

/** A pool of threads that render previews. */
export class Previews {
  readonly #queue = new FairQueue(threads)
  readonly #idle: Worker[] = []
  readonly #all = new Set<Worker>()
  /** The time that each thread had a processor. */
  readonly #clocks = new WeakMap<Worker, Clock>()

  /** Renders a preview. AppError `invalid` for mistakes in it, `unavailable` when too many of the user's wait. */
  async render(user: string, body: string, exists: LinkCheck): Promise<string> {
    // The signal is never aborted: the queue is bounded, and waiting is short.
    const { signal } = new AbortController()
    return await this.#queue.use({ user, signal }, async () => {
      const thread = this.#idle.pop() ?? (await this.#begin())
      const said = await finished(thread, body, exists, this.#clocks.get(thread)!).catch(async (error: unknown) => {
        await this.#end(thread)
        throw error
      })
      if (said === 'late' || said === 'ended') {
        await this.#end(thread)
        const why =
          said === 'late'
            ? `the template takes longer than ${killMilliseconds} ms`
            : 'the template needs too much memory'
        throw new AppError('invalid', `template_content: ${why}`)
      }
      this.#idle.push(thread)
      if ('text' in said) return said.text
      if ('bug' in said) throw new Error(said.bug)
      throw new AppError('invalid', said.fault, { data: said.data })
    })
  }

  async #begin(): Promise<Worker> {
    const program = new URL(`./preview-thread${extname(import.meta.url)}`, import.meta.url)
    const thread = new Worker(new URL('./thread.mjs', import.meta.url), {
      workerData: program.href,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
    })
    this.#all.add(thread)
    thread.unref()
    await new Promise<void>((resolve, reject) => {
      const ready = ({ folder }: { readonly folder: string }): void => {
        this.#clocks.set(thread, clockOfThread(folder))
        resolve()
      }
      thread.once('message', ready).once('error', reject)
    })
    // Running out of memory is reported as an error, and then as the exit that is waited for.
    thread.removeAllListeners('error').on('error', () => {})
    return thread
  }

  async #end(thread: Worker): Promise<void> {
    this.#all.delete(thread)
    await thread.terminate()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((thread) => thread.terminate()))
  }
}

type Finished = Exclude<FromPreviewThread, { ready: true } | { doctype: string }> | 'late' | 'ended'

/** Waits for the thread's result of a body; the time that it waits for our answers does not count. */
function finished(
  thread: Worker,
  body: string,
  exists: LinkCheck,
  clock: Clock,
): Promise<Finished> {
  const tell = (message: ToPreviewThread): void => thread.postMessage(message, [])
  return new Promise((resolve, reject) => {
    let last = performance.now() + lastsMilliseconds
    let left = killMilliseconds
    let began = clock.now()
    let timer = setTimeout(() => check(), left)
    const count = (): void => {
      const now = clock.now()
      left -= now - began
      began = now
    }
    const check = (): void => {
      count()
      if (left < 1 || performance.now() > last) end('late')
      else timer = setTimeout(check, left)
    }
    const look = async (doctype: string, name: string): Promise<void> => {
      clearTimeout(timer)
      count()
      const asked = performance.now()
      const found = await exists(doctype, name)
      last += performance.now() - asked
      began = clock.now()
      timer = setTimeout(check, left)
      tell({ exists: found })
    }
    const hear = (said: FromPreviewThread): void => {
      if ('text' in said || 'fault' in said || 'bug' in said) end(said)
      else if ('doctype' in said) look(said.doctype, said.name).catch(reject)
    }
    const leave = (): void => end('ended')
    const end = (outcome: Finished): void => {
      clearTimeout(timer)
      thread.off('message', hear).off('exit', leave)
      resolve(outcome)
    }
    thread.on('message', hear).on('exit', leave)
    tell({ body })
  })
}
