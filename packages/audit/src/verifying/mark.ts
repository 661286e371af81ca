/**
 * How far a log was found whole: its daemon signs that, beside its key, and the next verification may go on from there. It
 * says nothing of what is done to older lines later; reading all of them does.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, isoTime } from '#leaf/clock.ts'
import { replaceFile } from '#leaf/files.ts'
import type { ChainCheck } from './chain-check.ts'
import { isSigned, type LogKey, openPublicKeys, type PublicKeys, type WriterHead } from '../checkpoint.ts'
import type { AuditVerification, WriterMark } from './verification.ts'

/** The result of a verification that found a log whole. */
export interface LogMark {
  /** When all of it was read, ISO 8601, UTC. */
  readonly time: string
  readonly writers: readonly WriterMark[]
}

interface SignedMark {
  readonly mark: LogMark
  readonly key: string
  readonly signed: string
}

/** Returns the name of the file beside a head. */
function markNameOf(head: string): string {
  return head.replace(/^head/, 'verified')
}

/** Reads how far a log was verified; undefined when nothing that its own keys signed says so. */
async function readMark(folder: string, head: string, keys: PublicKeys): Promise<LogMark | undefined> {
  try {
    const { mark, key, signed } = JSON.parse(
      await readFile(join(folder, markNameOf(head)), 'utf8'),
    ) as SignedMark
    const known = keys.all.get(key)
    return known && isSigned(known, markText(mark), signed) ? mark : undefined
  } catch {
    return undefined
  }
}

async function writeMark(folder: string, head: string, key: LogKey, mark: LogMark): Promise<void> {
  const kept: SignedMark = { mark, key: key.id, signed: key.sign(markText(mark)) }
  await replaceFile(join(folder, markNameOf(head)), `${JSON.stringify(kept)}\n`)
}

function markText(mark: LogMark): string {
  return `assistant-core audit verified\n${JSON.stringify(mark)}`
}

/** Whether all lines are read, or those behind what was found whole before; and who signs for that. */
export interface Extent {
  readonly from: 'start' | 'mark'
  readonly key: LogKey
  readonly clock: Clock
}

/** What one reading found, and what the next may go on from. */
export interface LogReading {
  readonly found: AuditVerification
  readonly writers: readonly WriterMark[]
}

/** Reads a log from where it was found whole before, all of it unless that finds it whole again, and signs for what it found. */
export async function extended(
  folder: string,
  head: string,
  { from, key, clock }: Extent,
  read: (mark?: LogMark) => Promise<LogReading>,
): Promise<AuditVerification> {
  const mark = from === 'mark' ? await readMark(folder, head, await openPublicKeys(folder)) : undefined
  const some = mark && (await read(mark))
  const { found, writers } = some?.found.ok ? some : await read()
  const before = some && some.found === found ? mark.time : undefined
  if (found.ok) await writeMark(folder, head, key, { time: before ?? isoTime(clock.now()), writers })
  return before === undefined ? found : { ...found, before }
}

/** Returns what the next verification of a writer's lines may go on from. */
export function markOf(
  id: string,
  { checkpoint: { seq, hash }, through, lost, heads, told, removal }: ChainCheck,
): WriterMark {
  return { id, seq, hash, through, lost, heads: furthest(heads), told: [...told], removal }
}

/** Keeps the last of heads with growing numbers, since the chain binds all lines before one. */
export function furthest(heads: readonly WriterHead[]): readonly WriterHead[] {
  const kept = new Map<string, WriterHead[]>()
  for (const head of heads) {
    const [id, seq] = head
    const list = kept.get(id) ?? []
    if (list.length > 0 && list.at(-1)![1] <= seq) list.pop()
    list.push(head)
    kept.set(id, list)
  }
  return [...kept.values()].flat()
}
