import type { Clock } from '../core/clock.ts'
import { isoTime } from '../core/clock.ts'
import { checkpoint, type LogKey, type WriterHead } from './checkpoint.ts'
import { keyChange } from './key-change.ts'
import type { KnownLine } from './known-log.ts'
import { firstPrev, lineHash, lineText, type ToldEvent } from './line.ts'

const checkpointLines = 1_000

/** Lines that follow the end of a chain, and count once they are taken. */
export interface ChainLinks {
  /** The number of the first of them. */
  readonly first: number
  readonly lines: readonly string[]
  readonly end: KnownLine
  readonly signed: boolean
  readonly key: LogKey
  /** The other writers that the checkpoint among them names. */
  readonly heads: readonly WriterHead[]
}

/** The end of a log, to which events are added as lines of which each names the hash of the one before. */
export class Chain {
  readonly #clock: Clock
  readonly #writer: string | undefined
  #key: LogKey
  #change: { readonly told: ToldEvent; readonly key: LogKey } | undefined
  #unsigned = 0
  #end: KnownLine = { seq: 0, hash: firstPrev }

  /** Where several write, each line names its writer. */
  constructor(clock: Clock, key: LogKey, writer?: string) {
    this.#clock = clock
    this.#key = key
    this.#writer = writer
  }

  get end(): KnownLine {
    return this.#end
  }

  get key(): LogKey {
    return this.#key
  }

  /** How many lines have no signature behind them. */
  get unsigned(): number {
    return this.#unsigned
  }

  /** Goes on behind a line that was found. */
  goOn(end: KnownLine): void {
    this.#end = end
  }

  /** The event by which the key hands over to another, which signs from then on. */
  handOver(key: LogKey): ToldEvent {
    const told = keyChange(this.#key, key, isoTime(this.#clock.now()))
    this.#change = { told, key }
    return told
  }

  /** The lines of the events and, when it is due, of a checkpoint; undefined for none. */
  next(events: readonly ToldEvent[], sign: boolean, heads?: readonly WriterHead[]): ChainLinks | undefined {
    const change = this.#change && events.includes(this.#change.told) ? this.#change : undefined
    const key = change?.key ?? this.#key
    let { seq, hash } = this.#end
    const first = seq + 1
    const lines: string[] = []
    const add = (told: ToldEvent): void => {
      const line = lineText(told, ++seq, hash, this.#writer)
      hash = lineHash(line)
      lines.push(line)
    }
    for (const told of events) add(told)
    const signed = sign || change !== undefined || this.#unsigned + events.length >= checkpointLines
    if (signed) add(checkpoint(key, isoTime(this.#clock.now()), { seq: seq + 1, prev: hash, heads }))
    if (lines.length === 0) return undefined
    return { first, lines, end: { seq, hash }, signed, key, heads: signed ? (heads ?? []) : [] }
  }

  /** The lines are kept: what follows goes on behind them. */
  took({ lines, end, signed, key }: ChainLinks): void {
    this.#end = end
    this.#unsigned = signed ? 0 : this.#unsigned + lines.length
    if (key === this.#change?.key) this.#change = undefined
    this.#key = key
  }
}
