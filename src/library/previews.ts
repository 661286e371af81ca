/**
 * Templates that a caller wrote are rendered in threads, never in the daemon's own: a few of them, begun when they are
 * first needed, one preview at a time for each user, and ended, whatever they do, when one takes too long. A thread
 * sees the body that it renders and nothing else; what it has to know of documents it asks for.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AppError } from '../core/errors.ts'
import { FairQueue } from '../core/fair-queue.ts'
import type { LinkCheck } from './arguments.ts'
import type { FromPreviewThread, ToPreviewThread } from './preview-thread.ts'

/** How long a preview may keep a thread busy before it is ended. */
const killMilliseconds = 250

const threads = 2

/** The threads that render previews. */
export class Previews {
  readonly #queue = new FairQueue(threads)
  readonly #idle: Worker[] = []
  readonly #all = new Set<Worker>()

  /** The text of a preview. AppError `invalid` for what is wrong with it, `unavailable` when too many of the user's wait. */
  async render(user: string, body: string, exists: LinkCheck): Promise<string> {
    // Nobody leaves early: what waits is bounded, and soon done.
    const { signal } = new AbortController()
    return await this.#queue.use({ user, signal }, async () => {
      const thread = this.#idle.pop() ?? (await this.#begin())
      const said = await finished(thread, body, exists).catch(async (error: unknown) => {
        await this.#end(thread)
        throw error
      })
      if (said === 'late' || said === 'ended') {
        await this.#end(thread)
        const why = said === 'late' ? `takes longer than ${killMilliseconds} ms` : 'needs too much memory'
        throw new AppError('invalid', `template_content: the template ${why}`)
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
      thread.once('message', () => resolve()).once('error', reject)
    })
    // Running out of memory is told as an error, and then as the end that is waited for.
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

/** What the thread made of a body; the time that it waits for an answer of ours is not its own. */
function finished(thread: Worker, body: string, exists: LinkCheck): Promise<Finished> {
  const tell = (message: ToPreviewThread): void => thread.postMessage(message, [])
  return new Promise((resolve, reject) => {
    let left = killMilliseconds
    let began = performance.now()
    let timer = setTimeout(() => end('late'), left)
    const look = async (doctype: string, name: string): Promise<void> => {
      clearTimeout(timer)
      left -= performance.now() - began
      const found = await exists(doctype, name)
      began = performance.now()
      timer = setTimeout(() => end('late'), left)
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
