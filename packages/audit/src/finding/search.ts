/** Reads the log: what happened, by whom, when. Reading is independent and never holds up writing. */
import { setTimeout } from 'node:timers/promises'
import { Slice } from '#leaf/slices.ts'
import type { RawLine } from '#state/lines.ts'
import type { Ledger } from '#state/store.ts'
import type { AuditLine } from '../audit.ts'
import { type AuditFilter, wantedBy } from './filter.ts'
import { wantedTerms } from '../ledger/ledger-lines.ts'
import { parseLine } from '../line.ts'

const pollMilliseconds = 200

/** Yields the events that match, oldest first, from compressed files too. */
export async function* searchAudit(ledger: Ledger, filter: AuditFilter = {}): AsyncGenerator<AuditLine> {
  yield* eventsOf(ledger, filter, false)
}

/** Yields the events that match from either end, a slice of time at a time; throws once nobody wants them any more. */
async function* eventsOf(
  ledger: Ledger,
  filter: AuditFilter,
  backward: boolean,
  signal?: AbortSignal,
): AsyncGenerator<AuditLine> {
  const test = wantedBy(filter)
  for await (const line of inTurns(linesOf(ledger, filter, backward), signal)) {
    const event = test(line)
    if (event) yield event
  }
}

/** Yields lines one by one, a slice of time at a time. */
export async function* inTurns<L extends RawLine>(
  batches: AsyncIterable<readonly L[]>,
  signal?: AbortSignal,
): AsyncGenerator<L> {
  const slice = new Slice()
  for await (const lines of batches)
    for (const line of lines) {
      yield line
      if (!slice.isOver()) continue
      await slice.rest()
      signal?.throwIfAborted()
    }
}

/** Yields lines that include all those a filter wants, from one end of the log or from the other. */
async function* linesOf(
  ledger: Ledger,
  filter: AuditFilter,
  backward: boolean,
): AsyncGenerator<readonly RawLine[]> {
  const { seq, since, until } = filter
  if (seq === undefined) {
    yield* ledger.read({ terms: wantedTerms(filter), since, until, backward })
    return
  }
  for (const { id } of await ledger.writers())
    for await (const lines of ledger.read({ writer: id, after: seq - 1 })) {
      yield lines
      if (lines.length > 0) break
    }
}

/** Returns the last events that match, the newest last. Rejects once the signal says that nobody wants them any more. */
export async function tailAudit(
  ledger: Ledger,
  count: number,
  filter: AuditFilter = {},
  signal?: AbortSignal,
): Promise<AuditLine[]> {
  const found: AuditLine[] = []
  if (count === 0) return found
  for await (const event of eventsOf(ledger, filter, true, signal)) if (found.push(event) >= count) break
  return found.reverse()
}

/** A position in a log: the last line of each writer. */
export type LogPosition = Map<string, number>

/** Returns the position where the log ends now. */
export async function endOf(ledger: Ledger): Promise<LogPosition> {
  return new Map((await ledger.writers()).map(({ id, last }) => [id, last]))
}

/** Options for following the log: which events, from where, and until when. */
export interface TailOptions {
  readonly filter?: AuditFilter
  /** The position after which events are yielded; without it, only those that come from now on. */
  readonly after?: LogPosition
  readonly signal: AbortSignal
  /** Settles when more may have been written; without it, the log is looked at every so often. */
  readonly idle?: () => Promise<void>
}

/**
 * Yields matching events as they are written, by any writer, until the signal ends it. The numbers of each writer have
 * no gaps, and its lines are kept in their order: none is skipped.
 */
export async function* followAudit(ledger: Ledger, options: TailOptions): AsyncGenerator<AuditLine> {
  const { filter = {}, signal, after: position = await endOf(ledger) } = options
  const test = wantedBy(filter)
  while (!signal.aborted) {
    let advanced = false
    for (const { id: writer, last } of await ledger.writers()) {
      const seen = position.get(writer) ?? 0
      if (last <= seen) continue
      for await (const lines of ledger.read({ writer, after: seen })) {
        for (const line of lines) {
          const seq = line.complete ? parseLine(line.bytes)?.seq : undefined
          if (seq === undefined || seq <= (position.get(writer) ?? 0)) continue
          position.set(writer, seq)
          advanced = true
          const event = test(line)
          if (event) yield event
          if (signal.aborted) return
        }
      }
    }
    if (advanced) continue
    await (options.idle?.() ?? setTimeout(pollMilliseconds, undefined, { signal })).catch(() => undefined)
  }
}
