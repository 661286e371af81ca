/**
 * The check that a server has the newest history this daemon saw. A server left behind takes writes as willingly as any
 * other: a primary that comes back after its standby was promoted, a standby that lagged, a backup. Writes there are lost
 * to all who use the other server, so none are made until an operator accepts the loss of what is missing.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, messageOf } from '#leaf/errors.ts'
import { replaceFile } from '#leaf/files.ts'
import type { Log } from '#leaf/log.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { LedgerEnd, OlderServer } from '../../ledger.ts'
import { codeOf, olderHistory, outage } from './errors.ts'

const fileName = 'history.json'

/** The history seen; it says nothing about another ledger. */
interface Known {
  readonly ledger: string
  /** The system identifier: a server and its standbys share it and their timelines; absent where the database does not tell. */
  readonly system?: string | undefined
  /** The timeline, which grows with each promotion. */
  readonly timeline?: number | undefined
  /** The last line of this daemon. */
  readonly end?: LedgerEnd | undefined
}

/** The history found on a server. */
interface Found {
  readonly seen: Known
  /** The number of the last line of this daemon there. */
  readonly last: number
  /** The hash of its line at the number of `end`, if there is one. */
  readonly hash: string | undefined
}

/** Runs a statement on the connection being checked, and returns its only row. */
export type FirstRowOf = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>

const placeQuery = `SELECT system_identifier::text, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
  FROM pg_control_system()
  WHERE NOT pg_is_in_recovery()`

const ledgerQuery = `SELECT (SELECT name FROM assistant_core.ledger_name),
  (SELECT max(seq) FROM assistant_core.ledger WHERE writer = $1),
  (SELECT line FROM assistant_core.ledger WHERE writer = $1 AND seq = $2)`

/** The history known to a daemon, stored in its state folder; without a folder, in memory only. */
export class KnownHistory {
  readonly #path: string | undefined
  readonly #log: Log | undefined
  #known: Known | undefined
  #kept = ''
  #writing: Promise<void> = Promise.resolve()
  #accepting: boolean
  /** The checks now waived for all servers: at 1 the end of the ledger, at 2 the timeline too. */
  #waived = 0
  #accepted: OlderServer | undefined
  /** The start time of the server that passed the check; undefined until one did. */
  server: number | undefined
  /** What the server last checked lacks; undefined while a server is used that passed. */
  lacking: OlderServer | undefined

  /** Opens the history; without a log nothing is written down. */
  static async open(folder?: string, log?: Log, accepting = false): Promise<KnownHistory> {
    const path = folder === undefined ? undefined : join(folder, fileName)
    try {
      const known = path === undefined ? undefined : (JSON.parse(await readFile(path, 'utf8')) as Known)
      return new KnownHistory(path, log, accepting, known)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return new KnownHistory(path, log, accepting, undefined)
      const why = `${path} cannot be used (${messageOf(error)})`
      throw new AppError('invalid', `${why}; remove it if the database is the right one`)
    }
  }

  private constructor(
    path: string | undefined,
    log: Log | undefined,
    accepting: boolean,
    known: Known | undefined,
  ) {
    this.#path = path
    this.#log = log
    this.#accepting = accepting
    this.#known = known
  }

  /** Records the last line of this daemon that was committed. */
  reached(end: LedgerEnd): void {
    if (this.#known) this.#known = { ...this.#known, end }
  }

  /** Throws for a server, named by its start time, that lacks known history. Each is checked once. */
  async require(server: number, ask: FirstRowOf): Promise<void> {
    if (server === this.server) return this.#has()
    const end = this.#known?.end
    const found = await find(ask, end)
    // Without a ledger the tables are still to be made.
    if (!found) return
    const { seen } = found
    const known = this.#known?.ledger === seen.ledger ? this.#known : undefined
    const older = known && lackingOf({ ...known, end }, found)
    if (older && this.#waived < older.weight) {
      this.lacking = older
      // A newer timeline is recorded, whatever else that server lacks, so that a server on an older one is refused later.
      if (isAfter(seen, known)) await this.#note({ ...known, timeline: seen.timeline })
      throw Object.assign(new Error(`${older.what}${remedy}`), { code: olderHistory })
    }
    this.#has()
    this.#accepted = older ?? this.#accepted
    this.server = server
    await this.#note(older ? seen : { ...known, ...seen })
  }

  #has(): void {
    this.#waived = 0
    this.lacking = undefined
  }

  /** The checks that are waived now. */
  get waived(): number {
    return this.#waived
  }

  /**
   * Waives one more check than those that were waived when no server passed, since an operator accepts the loss; false when
   * that is not allowed. Of several who find this at once only one waives more.
   */
  yields(waived: number): boolean {
    if (!this.#accepting || (waived >= this.#waived && this.#waived === 2)) return false
    if (waived >= this.#waived) this.#waived++
    return true
  }

  /** Runs work that may use a server that lacks known history, where no other answers; returns what it lacks. */
  async accept(work: () => Promise<unknown>): Promise<OlderServer | undefined> {
    this.#accepting = true
    try {
      await work()
    } finally {
      this.#accepting = false
      this.#waived = 0
    }
    const accepted = this.#accepted
    this.#accepted = undefined
    return accepted
  }

  /** Saves what is known now. */
  keep(): Promise<void> {
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  async #write(): Promise<void> {
    const text = `${JSON.stringify(this.#known)}\n`
    if (this.#path === undefined || !this.#log || !this.#known || text === this.#kept) return
    try {
      await replaceFile(this.#path, text)
      this.#kept = text
    } catch (error) {
      this.#log.warn('which history of the database was seen could not be noted', { error })
    }
  }

  async #note(known: Known): Promise<void> {
    this.#known = known
    await this.keep()
  }
}

const remedy = '; it is not used while it lacks that, unless audit accept-loss answers for it'

/** Reads the history of a server; undefined when it holds no ledger. */
async function find(ask: FirstRowOf, end: LedgerEnd | undefined): Promise<Found | undefined> {
  const [isThere] = await ask("SELECT to_regclass('assistant_core.ledger') IS NOT NULL")
  if (isThere !== true) return undefined
  const [ledger, last, line] = await ask(ledgerQuery, [end?.writer, end?.seq])
  const [system, timeline] = await ask(placeQuery).catch((error: unknown) => {
    if (outage(error) !== undefined) throw error
    // This user may not query it, or the database has nothing like it.
    return []
  })
  const place = timeline === undefined ? {} : { system: String(system), timeline: Number(timeline) }
  return {
    seen: { ledger: String(ledger), ...place },
    last: Number(last ?? 0),
    hash: typeof line === 'string' ? sha256(line) : undefined,
  }
}

/** Returns what is missing there, and its weight: accepting missing lines (1) does not accept an older timeline (2). */
function lackingOf(
  { end, ...known }: Known,
  found: Found,
): (OlderServer & { readonly weight: number }) | undefined {
  const isOlder = isAfter(known, found.seen)
  const isCut = end !== undefined && (found.last < end.seq || (found.hash ?? end.hash) !== end.hash)
  if (!isOlder && !isCut) return undefined
  const { seq: expected } = end ?? { seq: found.last }
  const lost = expected - found.last
  const there = lost > 0 ? `they end at line ${found.last}: ${lost} are missing` : 'it is another'
  const parts = [
    isOlder && `it is on timeline ${found.seen.timeline}, and timeline ${known.timeline} was seen`,
    isCut && `line ${expected} of this daemon in the audit log had been written, and there ${there}`,
  ]
  const what = `the database's server has an older history: ${parts.filter(Boolean).join('; ')}`
  return { what, expected, found: Math.min(found.last, expected), weight: isOlder ? 2 : 1 }
}

function isAfter(one: Known, other: Known): boolean {
  return one.system === other.system && (one.timeline ?? 0) > (other.timeline ?? Infinity)
}
