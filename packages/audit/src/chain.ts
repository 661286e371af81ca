import { type Clock, isoTime } from '#leaf/clock.ts'
import { checkpoint, type LogKey, type WriterHead } from './checkpoint.ts'
import { keyChange } from './keeping/key-change.ts'
import type { KnownLine } from './verifying/known-log.ts'
import { firstPrev, lineHash, lineText, type ToldEvent } from './line.ts'

const checkpointLines = 1_000

/** Lines that follow the end of a chain; they count once they are taken. */
export interface ChainLinks {
  /** The number of the first line. */
  readonly first: number
  readonly lines: readonly string[]
  readonly end: KnownLine
  readonly signed: boolean
  /** True when an event counts for nothing before its signature. */
  readonly sealed: boolean
  readonly key: LogKey
  /** The other writers that the checkpoint in these lines names. */
  readonly heads: readonly WriterHead[]
}

/** A write that was sent but may not have been kept. */
export interface Tried {
  readonly links: ChainLinks
  readonly events: readonly ToldEvent[]
}

/** The end of a log; events are added as lines, each with the hash of the one before. */
export class Chain {
  readonly #clock: Clock
  readonly #writer: string | undefined
  #key: LogKey
  #change: { readonly told: ToldEvent; readonly key: LogKey } | undefined
  #unsigned = 0
  #end: KnownLine = { seq: 0, hash: firstPrev }

  /** Sets the writer's name for each line, where several write. */
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

  /** The number of lines that no signature follows. */
  get unsigned(): number {
    return this.#unsigned
  }

  /** Continues after a line that was found. */
  goOn(end: KnownLine): void {
    this.#end = end
  }

  /** Returns the event that hands over from the key to another, which signs from then on. */
  handOver(key: LogKey): ToldEvent {
    const told = keyChange(this.#key, key, isoTime(this.#clock.now()))
    this.#change = { told, key }
    return told
  }

  /** Returns the lines of events and, when due, of a checkpoint, which may be the last of this run; undefined for none. */
  next(
    events: readonly ToldEvent[],
    sign: boolean,
    { heads, closed = false }: { readonly heads?: readonly WriterHead[]; readonly closed?: boolean } = {},
  ): ChainLinks | undefined {
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
    const seal = (by: LogKey, others: typeof heads, isLast: boolean): void =>
      add(checkpoint(by, isoTime(this.#clock.now()), { seq: seq + 1, prev: hash, heads: others }, isLast))
    // After the end of a run only signed lines are believed: anybody could have added others.
    if (this.#end.closed && events.length > 0) seal(this.#key, undefined, false)
    for (const told of events) add(told)
    const sealed = change !== undefined || events.some((told) => told.sealed)
    const signed = sign || sealed || this.#unsigned + events.length >= checkpointLines
    if (signed) seal(key, heads, closed)
    if (lines.length === 0) return undefined
    const end = { seq, hash, closed: signed && closed }
    return { first, lines, end, signed, sealed, key, heads: signed ? (heads ?? []) : [] }
  }

  /** Accepts that the lines are kept: the next ones follow them. */
  took({ lines, end, signed, key }: ChainLinks): void {
    this.#end = end
    this.#unsigned = signed ? 0 : this.#unsigned + lines.length
    if (key === this.#change?.key) this.#change = undefined
    this.#key = key
  }
}
