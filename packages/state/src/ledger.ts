/**
 * The contract of a ledger: an append-only log, the lines of each writer in one order without gaps. The audit log
 * is kept in one: in files (`#audit`), or in the database that several daemons share.
 */
import type { RawLine } from './lines/read-lines.ts'

/** A line, and the terms and time it is found by. */
export interface LedgerLine {
  /** The sequence number, from 1 for each writer. */
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
  /** Lines that the same transaction removes: the first of a writer, through a number. */
  readonly dropped?: readonly LedgerPlace[]
}

/** A place in a writer's lines: the number of a line. */
export interface LedgerPlace {
  readonly writer: string
  readonly through: number
}

/** The first lines of a writer; where they are compressed, they can go up to some lines only. */
export interface LedgerEnds extends LedgerPlace {
  readonly ends?: readonly number[]
}

/** A line as a database keeps it. */
export interface LedgerRow extends LedgerLine, RawLine {
  readonly writer: string
}

/** A writer, and how far its lines reach. */
export interface LedgerWriter {
  readonly id: string
  /** A name for people to read. */
  readonly name: string
  /** The public keys that its lines are signed with, the present one last. */
  readonly keys: readonly string[]
  /** The numbers of its first line and of its last; 0 when there is none. */
  readonly first: number
  readonly last: number
  /** The time of its first line. */
  readonly since: number | undefined
  /** Its last line. */
  readonly line: string | undefined
}

/** A line that is known to have been committed. */
export interface LedgerEnd {
  readonly writer: string
  readonly seq: number
  readonly hash: string
}

/** Committed data that a server lacks: in words, and by the numbers of this daemon's last line and of the last one found. */
export interface OlderServer {
  readonly what: string
  readonly expected: number
  readonly found: number
}

/** A query for lines, of one writer by their numbers, or of all by their times. Every part that is given must hold. */
export interface LedgerQuestion {
  readonly writer?: string
  /** Only lines after (or, backward, before) the one with this number; needs a writer. */
  readonly after?: number
  readonly terms?: readonly string[]
  /** Milliseconds since the epoch, inclusive. */
  readonly since?: number | undefined
  /** Milliseconds since the epoch, exclusive. */
  readonly until?: number | undefined
  readonly backward?: boolean
}

/** Lines that a transaction writes last, when all else of it is written. */
export interface LastLines {
  /** Returns the lines; called again at each retry of the transaction. */
  lines(): Promise<LedgerLines>
  /** Called once for each time that lines were given; `false` also when it is unknown whether they were committed. */
  over(kept: boolean): void
}

/** A ledger with the lines of all writers. */
export interface Ledger {
  writers(): Promise<readonly LedgerWriter[]>
  /** Adds lines; false, with nothing added, when the line before them is missing or the first of them is there already. */
  add(lines: LedgerLines, after: number): Promise<boolean>
  /** Yields lines in batches; those asked for are among them. */
  read(question: LedgerQuestion): AsyncGenerator<readonly RawLine[]>
  /** A number that changes when the ledger moves to another server, which may lack the last lines committed. */
  readonly server?: number | undefined
  /** Records the last line of this daemon: a server that lacks it is not used. */
  reached?(end: LedgerEnd): void
}

/** The ledger of a database. */
export interface SharedLedger extends Ledger {
  /** Returns its unique name, which stays when the database is restored from a backup of its server. */
  name(): Promise<string>
  /** Records a writer, or its new key. */
  enter(writer: Pick<LedgerWriter, 'id' | 'name' | 'keys'>): Promise<void>
  /**
   * Registers what a transaction writes last, committed with it or not at all. Once per transaction. Transactions that are
   * committed as one write the lines of all their parts.
   */
  lastIn<P>(transaction: object, part: P, linesFor: (parts: readonly P[]) => LastLines): void
  /** Yields exactly the lines that are asked for. */
  read(question: LedgerQuestion): AsyncGenerator<readonly LedgerRow[]>
  /**
   * Finds the end of each writer's lines that are older than a time, no more than one transaction should remove. The last
   * line stays of those who write still: of the writer `mine`, and of any that wrote about when the newest line was written.
   */
  oldestEnd(before: number, mine: string): Promise<readonly LedgerEnds[]>
  /**
   * Compresses some of the first lines that are older than a time, of the writer `mine` and of those that write no more;
   * false when there are none. Nothing else about them changes: they are read and found as before.
   */
  compress(before: number, mine: string): Promise<boolean>
  /** Returns the time of the first line to keep so that at most `most` bytes of lines remain; undefined to keep all. */
  timeOfExcess(most: number): Promise<number | undefined>
  bytes(): Promise<number>
  /** Returns about how many bytes the lines have, without indexes and as they are compressed. */
  lineBytes(): Promise<number>
  /** Accepts a server that lacks committed data, where none with it answers. Returns what it lacks, undefined for nothing. */
  acceptOlder(): Promise<OlderServer | undefined>
}
