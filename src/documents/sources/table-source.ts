/** One doctype whose documents lie in a table of others: looked at, compared with the site, and asked. */
import { AppError, messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { type Queryable, type TableAccess, tableCollection, TableLayout } from '#state/postgres.ts'
import type { Collection } from '#state/store.ts'
import type { Documents } from '../documents.ts'
import { briefly } from '#site/site.ts'
import type { ChangeThere, StepThere } from '../tables-of-others.ts'
import type { Doctype } from '../platform/platform.ts'
import { Uncounted } from '../writing/quota.ts'
import { usedOtherwise } from '../writing/once.ts'
import { RefusedThere } from '../writing/refused-there.ts'
import type { StoredDocument } from '../writing/stored.ts'
import { type CatalogueTable, type SourceLook, tableNameOf } from '#sources/catalogue.ts'
import { type Door, UnknownThere } from '#sources/sources.ts'
import { type Lack, lackRefusal, lacksOf } from './lacks.ts'
import { match, type Match, tablesOf } from './matching.ts'
import type { Problem } from './rule-problems.ts'
import { isDenied, isDoubtful, sourceRefusal } from '#sources/asking.ts'
import { refusedThere } from './write-faults.ts'
import { keepOutcome, removeOldKeys, takeKey } from '#sources/write-keys.ts'
import { writeKeysLacks } from './write-keys-lacks.ts'

/** The most documents that are logged because the evaluator does not find them. */
const mostTold = 20

/** What a table does not fit, in words for the operator. */
export class Drift extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ message }) => message).join('; '))
    this.name = 'Drift'
    this.problems = problems
  }
}

/** What a login lacks, in words for the operator: documents are read all the same. */
export class Lacking extends Drift {}

interface TableParts {
  readonly door: Door
  readonly log: Log
  /** Waits until the table has been looked at; throws why it cannot be asked now. Who `writes` has lacks looked for anew. */
  readonly ready: (writes?: 'writes') => Promise<void>
  /** Told that a question failed as if the table had changed, or the source had gone; settles when it was looked at. */
  readonly doubted: () => Promise<void>
}

/** A doctype with its table. */
export class TableSource {
  readonly #doctype: Doctype & { readonly origin: NonNullable<Doctype['origin']> }
  readonly #parts: TableParts
  #match: Match | undefined
  /** Documents told to differ since the last look: as many say no more than some. */
  #differing = 0

  constructor(doctype: Doctype & { readonly origin: NonNullable<Doctype['origin']> }, parts: TableParts) {
    this.#doctype = doctype
    this.#parts = parts
  }

  get door(): Door {
    return this.#parts.door
  }

  get remarks(): readonly Problem[] {
    return this.#match?.remarks ?? []
  }

  /** Compares the doctype with the table as it is now. Drift where it does not fit; any other error is the source's. */
  async look(): Promise<void> {
    const found = await this.#parts.door.look(async (at) => {
      const login = await at.login()
      const { origin } = this.#doctype
      const { writeKeys: keys, marks } = this.#parts.door
      const writes = Object.keys(origin.write).length > 0
      const names = tablesOf(origin, login.home)
      const tables = await at.tables(keys && writes ? [...names, tableNameOf(keys.table, login.home)] : names)
      const found = match(this.#doctype, login, tables, await this.#uniqueness(at, tables))
      if (writes) found.lacks.push(...writeKeysLacks(origin, { keys, marks }, tables))
      if (found.problems.length === 0) await this.#tryOut(at, found)
      return found
    })
    this.#differing = 0
    if (found.problems.length > 0) throw new Drift([...found.problems, ...found.lacks])
    this.#match = found
    if (found.lacks.length > 0) throw new Lacking(found.lacks)
  }

  /** Opens the documents for somebody. */
  collection({ asker, stop }: Pick<Documents, 'asker' | 'stop'>): Collection<StoredDocument> {
    const { name, origin } = this.#doctype
    const { door, log, ready, doubted } = this.#parts
    const collection = tableCollection<StoredDocument>({
      name,
      read: async (work) => {
        await ready()
        const { shape, tells } = this.#match!
        try {
          return await work(door.queryable({ asker, stop, tells }), shape)
        } catch (error) {
          if (stop?.reason) throw stop.reason
          if (isDoubtful(error)) void doubted()
          const refused = sourceRefusal(name, origin.source, error)
          if (refused !== error)
            log.warn('a source refused a question', { doctype: name, source: origin.source, error })
          throw refused
        }
      },
      differs: (id) => this.#differs(id),
    })
    return stop ? collection.until(stop) : collection
  }

  /** Opens the documents in a transaction of the source; `writing` is set where it changes them. */
  within(on: Queryable, writing?: TableAccess['writing']): Collection<StoredDocument> {
    const { name, origin } = this.#doctype
    // A row that cannot be locked is read, so that who may not change it learns no more than that.
    const unlocked = writing?.id === undefined ? [] : this.#lacksOf('lock')
    const refusal = (): Error => lackRefusal(origin.source, unlocked)
    return tableCollection<StoredDocument>({
      name,
      differs: (id) => this.#differs(id),
      read: async (work) => {
        await this.#parts.ready()
        return await work(on, this.#match!.shape)
      },
      ...(unlocked.length > 0 ? { refusal } : writing && { writing }),
    })
  }

  /** Runs work in a transaction that writes. Throws RefusedThere or UnknownThere, or AppError as reading does. */
  async change<R>(
    of: Pick<Documents, 'asker' | 'stop'>,
    { dry, last, first, name: id, key }: ChangeThere,
    work: (on: Queryable, writing: NonNullable<TableAccess['writing']>) => Promise<R>,
  ): Promise<R> {
    const { name, origin } = this.#doctype
    const { door, log, ready, doubted } = this.#parts
    await ready('writes')
    let step: StepThere | 'lock' = 'lock'
    try {
      this.#requireKeys(key)
      return await door.writing(of, { dry, last }, async (on, transaction) => {
        const known = key && (await takeKey(on, door.writeKeys!, key))
        if (known === 'different') throw new AppError('conflict', usedOtherwise)
        if (known) return known.value as R
        const value = await work(on, {
          id,
          first: async ({ before, after }) => {
            step = { before: before as StoredDocument, after: after as StoredDocument }
            const lacks = this.#lacksOf(step)
            if (lacks.length > 0) throw lackRefusal(origin.source, lacks)
            await first(step, await transaction())
          },
        })
        if (key) {
          await keepOutcome(on, door.writeKeys!, key.id, value)
          await removeOldKeys(on, door.writeKeys!)
        }
        return value
      })
    } catch (error) {
      if (of.stop?.reason) throw of.stop.reason
      if (error instanceof AppError || error instanceof Uncounted || error instanceof RefusedThere)
        throw error
      const looked = isDoubtful(error) ? doubted() : undefined
      if (error instanceof UnknownThere) throw error
      log.warn('a source refused a change', { doctype: name, source: origin.source, error })
      if (isDenied(error)) {
        await briefly(looked!)
        this.#requireKeys(key, error)
        const lacks = this.#lacksOf(step)
        if (lacks.length > 0) throw lackRefusal(origin.source, lacks, error)
      }
      const ask = (text: string, values: readonly unknown[]) => door.look((at) => at.rows(text, values))
      const refused = await refusedThere(error, origin, ask, step)
      throw refused ?? sourceRefusal(name, origin.source, error)
    }
  }

  #lacksOf(step: StepThere | 'lock' | 'keys'): readonly Lack[] {
    return lacksOf(this.#match?.lacks ?? [], step)
  }

  /** A call that may be sent again is refused where it could not be kept, and each where what becomes of it is told by that. */
  #requireKeys(key: ChangeThere['key'], cause?: unknown): void {
    const lacks = key || this.#parts.door.marks ? this.#lacksOf('keys') : []
    if (lacks.length > 0) throw lackRefusal(this.#doctype.origin.source, lacks, cause)
  }

  #differs(id: string): void {
    if (++this.#differing > mostTold) return
    const { name, origin } = this.#doctype
    this.#parts.log.error('a source found a document that does not meet the question; it is not shown', {
      doctype: name,
      source: origin.source,
      document: id,
    })
  }

  /** Lets the database analyse what would be selected: types that cannot be compared, columns that may not be read. */
  async #tryOut(at: SourceLook, { shape, problems }: Match): Promise<void> {
    const { origin } = this.#doctype
    const { body, from, id } = new TableLayout(shape)
    await at.tryOut(`SELECT ${id}, ${body} FROM ${from} LIMIT 0`).catch((error: unknown) => {
      problems.push({ file: origin.file, path: ['from', 'table'], message: messageOf(error) })
    })
  }

  /** A view has no index that tells whether its key is unique: its rows are looked at. */
  async #uniqueness(at: SourceLook, tables: readonly CatalogueTable[]): Promise<ReadonlyMap<string, string>> {
    const { origin } = this.#doctype
    const [table] = tables.filter(({ schema, name }) => [name, `${schema}.${name}`].includes(origin.table))
    const why = new Map<string, string>()
    const isThere = origin.key.every((key) => table?.columns.some(({ name }) => name === key))
    if (!table?.isView || !table.readable || !isThere) return why
    const wrong = await at.uniqueness([table.schema, table.name], origin.key)
    if (wrong !== undefined) why.set(`${table.schema}.${table.name}`, wrong)
    return why
  }
}

/** Returns the error that callers get while a doctype is unavailable. */
export function unavailable({ name, origin }: Doctype, error: unknown): AppError {
  const source = origin!.source
  return new AppError(
    'unavailable',
    error instanceof Drift
      ? `${name} is unavailable: its table in the source "${source}" has changed; its operator has been told`
      : `${name} is unavailable: the source "${source}" cannot be reached; its operator has been told`,
    { cause: error },
  )
}
