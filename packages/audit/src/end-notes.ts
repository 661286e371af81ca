import type { Log } from '#leaf/log.ts'
import { type LogKey, writeHead } from './checkpoint.ts'
import type { KnownLine } from './verifying/known-log.ts'

/** The least time between two notes: each takes a second file and a transaction. */
const restMilliseconds = 1_000

interface EndNotesParts {
  readonly folder: string
  /** The name of the file. */
  readonly head: string
  readonly log: Log
  /** Called with the id of the key and each end that is noted, to be kept in yet another place. */
  readonly signed: (key: string, end: KnownLine) => void
}

/** Notes outside of a log how far it has come, by which a log without its end is found out. */
export class EndNotes {
  readonly #parts: EndNotesParts
  #due: { readonly key: LogKey; readonly end: KnownLine } | undefined
  #notedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #written: Promise<void> = Promise.resolve()

  constructor(parts: EndNotesParts) {
    this.#parts = parts
  }

  /** Notes an end: `now`, or once the last note is a second old, then the newest of those that came. */
  note(key: LogKey, end: KnownLine, now: boolean): void {
    this.#due = { key, end }
    const rest = this.#notedAt + restMilliseconds - performance.now()
    if (now || rest <= 0) this.#noteDue()
    else this.#timer ??= setTimeout(() => this.#noteDue(), rest).unref()
  }

  /** Settles when the file tells of all notes that are not put off. */
  settled(): Promise<void> {
    return this.#written
  }

  /** Notes what was put off. */
  async close(): Promise<void> {
    this.#noteDue()
    await this.#written
  }

  #noteDue(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const due = this.#due
    if (!due) return
    this.#due = undefined
    this.#notedAt = performance.now()
    const { folder, head, log, signed } = this.#parts
    this.#written = this.#written
      .then(() => writeHead(folder, due.key, due.end, head))
      .catch((error: unknown) => log.warn('how far the audit log has come could not be noted', { error }))
    signed(due.key.id, due.end)
  }
}
