/** Copies the whole state from one kind of store to the other, while nobody uses either. The copy is read back and compared. */
import { createHash } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { layState } from './backup.ts'
import { segmentName, segmentNumber } from './embedded/journal.ts'
import { loadState, snapshotName, unfinishedRestoreName } from './embedded/recovery.ts'
import { snapshotHeader, snapshotText } from './embedded/snapshot.ts'
import { Capture, type State } from './embedded/state.ts'

/** The report of a copy. */
export interface CopyReport {
  readonly from: 'embedded' | 'postgres'
  readonly to: 'embedded' | 'postgres'
  /** The schema version of the documents. */
  readonly schema: number
  readonly documents: number
  readonly collections: readonly CollectionDigest[]
}

/** Is told how many documents of all were written. */
export type Moved = (done: number, all: number) => void

/** A digest of the documents of a collection. */
export interface CollectionDigest {
  readonly collection: string
  readonly documents: number
  /** SHA-256 over the JSON of every document, a line each, in the order of their ids. */
  readonly sha256: string
}

/** Returns the digests of the collections of a state; empty ones are left out. */
export function digestsOf(state: State): readonly CollectionDigest[] {
  return [...state.tables.values()]
    .filter((table) => table.size > 0)
    .map((table) => {
      const hash = createHash('sha256')
      table.sorted.each((document) => {
        hash.update(`${JSON.stringify(document)}\n`)
        return true
      })
      return { collection: table.name, documents: table.size, sha256: hash.digest('hex') }
    })
    .sort((a, b) => (a.collection < b.collection ? -1 : 1))
}

/** Counts the documents of a state. */
export function sizeOfState(state: State): number {
  return [...state.tables.values()].reduce((sum, { size }) => sum + size, 0)
}

/** Tells of a snapshot's text how many documents went by: a line each, after the header's. */
async function* counted(pieces: AsyncIterable<string>, all: number, moved: Moved): AsyncGenerator<string> {
  let lines = 0
  for await (const piece of pieces) {
    yield piece
    for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) lines++
    moved(Math.min(Math.max(0, lines - 1), all), all)
  }
}

/** Throws when the two sides differ. */
export function requireSame(sent: readonly CollectionDigest[], arrived: readonly CollectionDigest[]): void {
  const names = [...new Set([...sent, ...arrived].map(({ collection }) => collection))]
  const of = (list: readonly CollectionDigest[], name: string): string => {
    const found = list.find(({ collection }) => collection === name)
    return found ? `${found.documents} ${found.sha256}` : 'none'
  }
  const different = names.filter((name) => of(sent, name) !== of(arrived, name))
  if (different.length > 0) {
    throw new AppError(
      'unavailable',
      `what arrived is not what was sent, in ${different.join(', ')}; nothing is kept`,
    )
  }
}

/** Reads the embedded state of a folder, whose lock the caller holds. AppError `not_found` without one, `invalid` if damaged. */
export async function readEmbedded(folder: string): Promise<State> {
  const { state, found } = await loadState(folder, 0)
  if (!found) throw new AppError('not_found', `there is no embedded state in ${folder}`)
  return state
}

/**
 * Writes a state into a folder that holds none, whose lock the caller holds; other files there, such as the
 * audit log, stay. AppError `conflict` when there is a state.
 */
export async function writeEmbedded(
  state: State,
  folder: string,
  clock: Clock,
  moved: Moved = () => undefined,
): Promise<readonly CollectionDigest[]> {
  const isState = (name: string): boolean =>
    name === snapshotName || name === unfinishedRestoreName || segmentNumber(name) !== undefined
  const there = (await readdir(folder)).filter(isState)
  if (there.length > 0) {
    throw new AppError(
      'conflict',
      `${folder} holds a state already (${there.join(', ')}); move it away first`,
    )
  }
  const capture = new Capture(state)
  const header = snapshotHeader(state.schema, clock, { last: 0, segment: 1 })
  await layState(folder, counted(snapshotText(header, capture), sizeOfState(state), moved)).finally(() =>
    capture.end(),
  )
  try {
    const sent = digestsOf(state)
    requireSame(sent, digestsOf(await readEmbedded(folder)))
    return sent
  } catch (error) {
    for (const name of [snapshotName, segmentName(1)]) await rm(join(folder, name), { force: true })
    throw error
  }
}
