/**
 * The contract of the ledger: lines that are only ever added, those of each writer in one order without gaps. A state
 * that several daemons share has one, and their audit log is kept in it.
 */

/** A line, and what it is found by. */
export interface LedgerLine {
  /** Counts from 1 for each writer. */
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly terms: readonly string[]
  readonly line: string
}

/** Lines of one writer. */
export interface LedgerLines {
  readonly writer: string
  readonly lines: readonly LedgerLine[]
  /** What a transaction removes with them: the first lines of a writer, through a number. */
  readonly dropped?: readonly LedgerPlace[]
}

/** A line, by its number. */
export interface LedgerPlace {
  readonly writer: string
  readonly through: number
}

/** A line as it is kept. */
export interface LedgerRow extends LedgerLine {
  readonly writer: string
}

/** Who writes, and how far it has come. */
export interface LedgerWriter {
  readonly id: string
  /** For people. */
  readonly name: string
  /** With what its lines are signed: public keys, the present one last. */
  readonly keys: readonly string[]
  /** The numbers of its first line and of its last; 0 when there is none. */
  readonly first: number
  readonly last: number
  /** When its first line happened. */
  readonly since: number | undefined
  /** Its last line. */
  readonly line: string | undefined
}

/** Which lines, of one writer by their numbers, or of all by their times. Every part that is given must hold. */
export interface LedgerQuestion {
  readonly writer?: string
  /** Only behind (or, backward, before) the line with this number; with a writer. */
  readonly after?: number
  readonly terms?: readonly string[]
  /** Milliseconds since the epoch, inclusive. */
  readonly since?: number | undefined
  /** Exclusive. */
  readonly until?: number | undefined
  readonly backward?: boolean
}

/** What a transaction writes last, when all else of it is written. */
export interface LastLines {
  /** Asked for anew whenever the transaction is begun anew. */
  lines(): Promise<LedgerLines>
  /** Told once for each time that lines were given; also when it cannot be known that they were kept, `false`. */
  over(kept: boolean): void
}

/** The lines of all writers. */
export interface Ledger {
  /** Differs when it lies on another server than before, which may lack the last that was kept. */
  readonly server: number | undefined
  /** Tells it from every other, and stays when its database is restored from a backup of its server's. */
  name(): Promise<string>
  writers(): Promise<readonly LedgerWriter[]>
  /** Notes who writes, or its new key. */
  enter(writer: Pick<LedgerWriter, 'id' | 'name' | 'keys'>): Promise<void>
  /** Adds lines; false, and nothing is added, when the line before them is not there or the first of them is. */
  add(lines: LedgerLines, after: number): Promise<boolean>
  /** Has lines written last in a transaction, all of it kept or nothing. Once for each transaction. */
  lastIn(transaction: object, lines: LastLines): void
  /** The lines that are asked for, in handfuls. */
  read(question: LedgerQuestion): AsyncGenerator<readonly LedgerRow[]>
  /**
   * How far the lines of each writer are older than a time; not more of them than one transaction should remove. The last
   * line stays of those who write still: of the one named, and of who wrote when others did.
   */
  oldestEnd(before: number, mine: string): Promise<readonly LedgerPlace[]>
  /** When the first line happened that is kept if there are to be no more bytes of lines than these; undefined for all. */
  timeOfExcess(most: number): Promise<number | undefined>
  bytes(): Promise<number>
}
