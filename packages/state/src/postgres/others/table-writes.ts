/** Writes to a table of somebody else's, one row a statement, and reads back what became of it. */
import { isDeepStrictEqual } from 'node:util'
import { AppError } from '#leaf/errors.ts'
import { joined } from '#leaf/names.ts'
import type { Stored } from '../../store.ts'
import { constantOf, isStorable } from '../translating/column-kinds.ts'
import type { Queryable } from '../servers/connection.ts'
import type { Bind } from '../translating/dialect.ts'
import { comparedKey, constantsOf, keyText } from './table-key.ts'
import type { TableLayout } from './table-layout.ts'
import { keyShown, type TableShape, type WrittenColumn, type WrittenShape } from './table-shape.ts'

/** What is about to be written. */
export interface WriteStep {
  readonly before?: Stored
  readonly after?: Stored
}

interface WrittenTable {
  /** The name of what the documents are, for messages. */
  readonly name: string
  readonly layout: TableLayout
  readonly shape: TableShape
  readonly written: WrittenShape
}

/** The writes of one transaction on a table. */
export class TableWrites {
  readonly #on: Queryable
  readonly #table: WrittenTable
  readonly #first: (step: WriteStep) => Promise<void>
  #held: Stored | undefined

  /** `first` is told of each step before it is done. */
  constructor(on: Queryable, table: WrittenTable, first: (step: WriteStep) => Promise<void>) {
    this.#on = on
    this.#table = table
    this.#first = first
  }

  /** Returns a document as it is now; nobody else changes it until the transaction ends. */
  async hold(id: string): Promise<Stored | undefined> {
    const { written } = this.#table
    // What is joined must be as new as the row, which may have been waited for: hence a statement of its own.
    const locked = await this.#asked(
      (bind) => `SELECT 1 FROM ${written.table} AS d WHERE ${this.#is(id, bind)} FOR UPDATE`,
    )
    const found = locked.length === 0 ? undefined : await this.#read(id)
    // A collation may take another name for the same.
    this.#held = found?.id === id ? found : undefined
    return this.#held
  }

  /** Makes a row, and returns what it has become; one without an id is given its key by the table. */
  async insert(document: Stored): Promise<Stored> {
    const { shape, written, name } = this.#table
    const { id } = document
    if (id !== '' && !constantsOf(shape.key, id, () => ''))
      throw new AppError('invalid', `${name}: name: no row can have the key ${JSON.stringify(id)}`)
    // What nobody gave is what the table gives a new row by itself.
    const given = [...written.creates].filter(([field]) => valueIn(document, field) !== null)
    this.#requireFit(given, document)
    await this.#first({ after: document })
    const rowOf = (bind: Bind): Map<string, string> =>
      new Map([
        ...(id === ''
          ? []
          : constantsOf(shape.key, id, bind)!.map((part, at) => [written.key[at]!, part] as const)),
        ...given.map(
          ([field, column]) => [column.name, assigned(column, valueIn(document, field), bind)] as const,
        ),
      ])
    const { writing } = shape.dialect
    const key = shape.key.map(keyShown).join(', ')
    /** Finds the row by what its key was given, and the number that it drew. */
    const keyOf = (drawn?: unknown): Promise<readonly (readonly unknown[])[]> =>
      this.#asked((bind) => {
        const row = rowOf(bind)
        const is = written.key.map((name) => `d.${name} = ${row.get(name) ?? bind(drawn)}`)
        return `SELECT ${key} FROM ${written.table} AS d WHERE ${is.join(' AND ')}`
      })
    const isGiven = !writing.tellsKey && written.key.every((name) => rowOf(() => '').has(name))
    // A trigger may give the new row another key: what is found by this one afterwards must not have been there.
    if (isGiven && (await keyOf()).length > 0)
      throw new AppError('conflict', `${name}: its name is taken; choose another; nothing was changed`)
    const rows = await this.#asked((bind) => {
      const row = rowOf(bind)
      return writing.insert(written.table, [...row.keys()], [...row.values()], key)
    })
    const made = this.#one(rows, 'made')
    const parts = writing.tellsKey ? made : this.#one(await keyOf(made[0]), 'made')
    return await this.#became(keyText(parts.map(String)))
  }

  /** Changes the row that is held, and returns what it has become. */
  async put(after: Stored): Promise<Stored> {
    const { shape, written } = this.#table
    const before = this.#held
    if (before?.id !== after.id) throw new Error('a document is read under lock before it is changed')
    const changed = [...written.changes].filter(
      ([field]) => !isDeepStrictEqual(valueIn(before, field), valueIn(after, field)),
    )
    this.#requireFit(changed, after)
    await this.#first({ before, after })
    const { version } = written
    const rows = await this.#asked((bind) => {
      const sets = changed.map(
        ([field, column]) => `${column.name} = ${assigned(column, valueIn(after, field), bind)}`,
      )
      if (version) sets.push(`${version.name} = ${nextVersion(version)}`)
      return shape.dialect.writing.update(written.table, sets, this.#is(after.id, bind))
    })
    this.#one(rows, 'changed')
    return await this.#became(after.id)
  }

  /** Deletes the row that is held. */
  async delete(id: string): Promise<boolean> {
    const { shape, written } = this.#table
    const before = this.#held
    if (before?.id !== id) throw new Error('a document is read under lock before it is deleted')
    await this.#first({ before })
    const rows = await this.#asked((bind) => shape.dialect.writing.delete(written.table, this.#is(id, bind)))
    this.#one(rows, 'deleted')
    return true
  }

  #requireFit(columns: readonly (readonly [string, WrittenColumn])[], document: Stored): void {
    const problems = columns.flatMap(([field, column]) => {
      const value = valueIn(document, field)
      const problem = value === null ? undefined : unfit(column, value)
      return problem === undefined ? [] : `${field}: ${problem}`
    })
    if (problems.length > 0)
      throw new AppError('invalid', `${this.#table.name}: ${joined(problems)}`, { data: { problems } })
  }

  async #read(id: string): Promise<Stored | undefined> {
    const { layout } = this.#table
    const [row] = await this.#asked(
      (bind) => `SELECT ${layout.body} FROM ${layout.from} WHERE ${this.#is(id, bind)}`,
    )
    return row && layout.read(row[0])
  }

  /** Reads what a row has become, which triggers and generated columns have a part in. */
  async #became(id: string): Promise<Stored> {
    const found = await this.#read(id)
    if (found) return found
    throw new AppError(
      'conflict',
      `${this.#table.name}${id === '' ? '' : ` "${id}"`} could not be read any more after it was written; nothing was changed`,
    )
  }

  #one(rows: readonly (readonly unknown[])[], done: string): readonly unknown[] {
    if (rows.length === 1) return rows[0]!
    throw new AppError(
      'conflict',
      `${this.#table.name}: the database would have ${done} ${rows.length} rows instead of one; nothing was changed`,
    )
  }

  #is(id: string, bind: Bind): string {
    return comparedKey(this.#table.shape.key, '=', id, bind)!
  }

  async #asked(text: (bind: Bind) => string): Promise<readonly (readonly unknown[])[]> {
    const values: unknown[] = []
    const statement = text((value) => `$${values.push(value)}`)
    return await this.#on.rows({ text: statement, values })
  }
}

function valueIn(document: Stored, field: string): unknown {
  return (document as unknown as Readonly<Record<string, unknown>>)[field] ?? null
}

/** Tells why a column cannot hold a value; undefined where it can, or where only the database knows. */
function unfit({ value, length, beyond, labels }: WrittenColumn, given: unknown): string | undefined {
  const { kind } = value
  switch (kind.is) {
    case 'text': {
      if (typeof given !== 'string' || !isStorable(given, value.dialect))
        return 'has characters that its table cannot hold'
      const count = Array.from(given).length
      if (length !== undefined && count > length)
        return `has at most ${length} characters in its table, not ${count}`
      if (labels && !labels.includes(given)) return `must be one of ${labels.join(', ')} in its table`
      if (kind.type !== 'uuid' && kind.type !== 'int8') return undefined
      if (constantOf(value, given, () => '') !== 'never') return undefined
      return kind.type === 'uuid' ? 'must be a uuid, in small letters' : 'must be a whole number'
    }
    case 'number':
    case 'float': {
      const number = Number(given)
      const isBeyond = beyond !== undefined && (number >= beyond || number < -beyond)
      return isBeyond ? `must be less than ${beyond} in its table` : undefined
    }
    case 'texts':
      return Array.isArray(given) &&
        given.every((one) => typeof one === 'string' && isStorable(one, value.dialect))
        ? undefined
        : 'must be a list of texts'
    case 'json':
      return isStorable(JSON.stringify(given), value.dialect) && !JSON.stringify(given).includes('\\u0000')
        ? undefined
        : 'has characters that its table cannot hold'
    case 'moment': {
      const { zoned } = value.dialect.writing
      if (!zoned || kind.zone === undefined || kind.zone === 'UTC') return undefined
      const isWithin = String(given) >= zoned[0] && String(given) < zoned[1]
      return isWithin ? undefined : `must be from ${zoned[0]} on and before ${zoned[1]} in its table`
    }
    default:
      return undefined
  }
}

/** Returns a value as the column is given it: the database takes a bound one for what its column is. */
function assigned({ value: { kind, dialect } }: WrittenColumn, given: unknown, bind: Bind): string {
  if (given === null) return 'NULL'
  switch (kind.is) {
    case 'check':
      return kind.type === 'bool'
        ? bind(given === true || given === 1)
        : bind(given === true ? 1 : Number(given))
    case 'moment':
      return dialect.writing.moment(bind(given), kind.zone)
    case 'json':
      return bind(JSON.stringify(given))
    case 'number':
    case 'float':
      // A double would be a decimal with other digits.
      return bind(typeof given === 'number' ? String(given) : given)
    default:
      return bind(given)
  }
}

function nextVersion({ name, value: { kind, dialect }, coarse = false }: WrittenColumn): string {
  if (kind.is !== 'moment') return `d.${name} + 1`
  const now = dialect.writing.now(kind.zone)
  const next = dialect.later(`d.${name}`, coarse ? 'second' : 'millisecond')
  return `COALESCE(greatest(${now}, ${next}), ${now})`
}
