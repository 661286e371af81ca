/** Verifies what lies on disk, without changing it and without opening it. */
import { stat } from 'node:fs/promises'
import { AppError } from '#leaf/errors.ts'
import { readState, type RecoveredState } from './embedded/recovery.ts'
import { readSnapshot, requireKnownFormat } from './embedded/snapshot.ts'

const attempts = 5

/** The findings on a state folder or a backup. */
export interface Verification {
  readonly ok: boolean
  /** The schema version of the documents. */
  readonly schema: number
  /** The time the snapshot or backup was made, ISO 8601. */
  readonly time: string
  readonly documents: Readonly<Record<string, number>>
  /** The number of the last transaction. */
  readonly last: number
  readonly bytes: number
  /** The damage found, each as `file:line: fault`. */
  readonly faults: readonly string[]
  /** Findings that are no damage but worth knowing, such as a write that a crash cut off. */
  readonly notes: readonly string[]
}

/**
 * Reads the whole state in a folder and reports every damaged line. May run while a daemon writes: a line
 * that is just being written is then noted as unfinished. AppError `not_found` when there is no state.
 */
export async function verifyStore(folder: string): Promise<Verification> {
  for (let attempt = 1; ; attempt++) {
    try {
      const found = await verifyOnce(folder)
      // A file that a running daemon is just replacing looks damaged once; real damage looks so again.
      if (found.ok || attempt === attempts) return found
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === attempts) throw error
    }
  }
}

/** Reads a whole backup and reports every damaged line. */
export async function verifyBackup(path: string): Promise<Verification> {
  const file = await stat(path).catch(() => undefined)
  if (!file?.isFile()) throw new AppError('not_found', file ? `${path} is no file` : `${path} does not exist`)
  const faults: string[] = []
  const ids = new Ids(faults)
  const header = await readSnapshot(
    path,
    (collection, document, line) => ids.add(collection, document.id, `line ${line}`),
    (line, message) => void faults.push(`line ${line}: ${message}`),
  )
  if (!header) throw new AppError('invalid', `${path} is not a backup: it does not begin as one`)
  requireKnownFormat(header.format, 'the backup')
  return verified(faults, ids, { header, last: header?.last, bytes: file.size })
}

function verified(
  faults: readonly string[],
  ids: Ids,
  found: Partial<Pick<RecoveredState, 'header' | 'last' | 'bytes'>> = {},
  notes: readonly string[] = [],
): Verification {
  const { header, last = 0, bytes = 0 } = found
  const { schema = 0, time = '' } = header ?? {}
  return { ok: faults.length === 0, schema, time, documents: ids.counts(), last, bytes, faults, notes }
}

async function verifyOnce(folder: string): Promise<Verification> {
  const faults: string[] = []
  const notes: string[] = []
  const ids = new Ids(faults)
  const found = await readState(folder, {
    document: (collection, document, place) => ids.add(collection, document.id, place),
    transaction: (changes) => {
      for (const { collection, id, document } of changes) ids.set(collection, id, document !== null)
    },
    fault: (place, message) => void faults.push(`${place}: ${message}`),
  })
  if (!found && faults.length === 0) throw new AppError('not_found', 'there is no state in this folder')
  const torn = found?.lastSegment?.torn
  if (torn && faults.length === 0) {
    notes.push(`the last write was not finished; ${torn.bytes} bytes will be dropped at the next start`)
  }
  return verified(faults, ids, found, notes)
}

/** The ids of the documents of each collection, without their contents. */
class Ids {
  readonly #collections = new Map<string, Set<string>>()
  readonly #faults: string[]

  constructor(faults: string[]) {
    this.#faults = faults
  }

  add(collection: string, id: string, place: string): void {
    if (this.#of(collection).has(id)) this.#faults.push(`${place}: ${JSON.stringify(id)} stands there twice`)
    this.set(collection, id, true)
  }

  set(collection: string, id: string, there: boolean): void {
    if (there) this.#of(collection).add(id)
    else this.#of(collection).delete(id)
  }

  counts(): Record<string, number> {
    const names = [...this.#collections.keys()].sort()
    return Object.fromEntries(names.map((name) => [name, this.#of(name).size]))
  }

  #of(collection: string): Set<string> {
    let ids = this.#collections.get(collection)
    if (!ids) this.#collections.set(collection, (ids = new Set()))
    return ids
  }
}
