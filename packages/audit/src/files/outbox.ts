import type { Log } from '#leaf/log.ts'
import type { Ledger, LedgerQuestion, Collection, CollectionSpec, Store, Transaction } from '#state/store.ts'
import type { AuditEvent } from '../audit.ts'
import { parseLine, type ToldEvent, toldBefore } from '../line.ts'

/** An event that was recorded inside a transaction and waits for its place in the log. */
export interface WaitingEvent {
  readonly id: string
  /** The key of the log to which it belongs: until 2.8, daemons that shared a database had one each. */
  readonly log?: string
  /** The last line of the log when it was recorded; its own line comes later. */
  readonly after: number
  readonly time: string
  /** As it will stand in the line: read and copied member by member, it would cost more than all else of its transaction. */
  readonly text?: string
  /** Until 2.16, instead of the text. */
  readonly event?: AuditEvent
}

/** Returns the event as it was told. */
export function toldAs({ id, time, text, event }: WaitingEvent): ToldEvent {
  return text === undefined ? toldBefore(id, time, event!) : { id, time, text }
}

/** The collection of waiting events. */
export const outboxSpec: CollectionSpec<WaitingEvent> = { name: 'audit.outbox', indexes: ['log'] }

/** Limits on removals that share a transaction and its sync, by time and number: nobody waits for them. */
const gatherMilliseconds = 200
const mostGathered = 500

/** Events on their way from a transaction to the log: kept with the transaction, removed when they are in the log. */
export class Outbox {
  readonly #store: Store
  readonly #log: Log
  readonly #waiting: Collection<WaitingEvent>
  #moved: string[] = []
  #removing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
    this.#waiting = store.collection(outboxSpec)
  }

  async put(transaction: Transaction, told: ToldEvent, after: number): Promise<void> {
    const { id, time, text } = told
    await transaction.in(this.#waiting).insert({ id, after, time, text })
  }

  /**
   * Returns the events that an earlier run left, in the order in which they were recorded, without those that
   * reached the log before the crash: each event gets into the log exactly once.
   */
  async leftOver(ledger: Ledger): Promise<readonly ToldEvent[]> {
    const waiting = await this.#waiting.find({ order: [{ field: 'after' }, { field: 'time' }] })
    if (waiting.length === 0) return []
    const ids = new Set(waiting.map(({ id }) => id))
    const written = await idsIn(ledger, { after: waiting[0]!.after }, ids)
    for (const id of written) this.moved(id)
    return waiting.filter(({ id }) => !written.has(id)).map(toldAs)
  }

  /** Notes that an event is in the log; it is removed here together with others. */
  moved(id: string): void {
    this.#moved.push(id)
    if (this.#moved.length >= mostGathered) this.#removeNow()
    else this.#removeSoon()
  }

  /** Settles when every event that is in the log by now has been removed here, or removing failed. */
  async settled(): Promise<void> {
    await this.#removing
    this.#removeNow()
    await this.#removing
  }

  #removeSoon(): void {
    this.#timer ??= setTimeout(() => this.#removeNow(), gatherMilliseconds).unref()
  }

  #removeNow(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#moved.length > 0) this.#removing ??= this.#remove()
  }

  async #remove(): Promise<void> {
    const ids = this.#moved
    this.#moved = []
    try {
      await this.#store.transaction(async (transaction) => {
        const waiting = transaction.in(this.#waiting)
        for (const id of ids) await waiting.delete(id)
      })
    } catch (error) {
      // They are removed with the next, or found in the log at the next start.
      this.#moved.push(...ids)
      this.#log.warn('events that are in the audit log could not be removed from the state', { error })
      this.#removing = undefined
      return
    }
    this.#removing = undefined
    if (this.#moved.length > 0) this.#removeSoon()
  }
}

/** Returns those of the ids that occur in the lines asked for. */
export async function idsIn(
  ledger: Ledger,
  question: LedgerQuestion,
  ids: ReadonlySet<string>,
): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const lines of ledger.read(question))
    for (const { bytes } of lines) {
      const id = parseLine(bytes)?.id
      if (id !== undefined && ids.has(id)) found.add(id)
    }
  return found
}
