/** The writes of a transaction that were not sent yet: one for each document, whatever the work did to it meanwhile. */
import { fieldOf, indexKeys, type IndexKey } from '../../embedded/field-index.ts'
import type { TableSpec } from '../../embedded/table.ts'
import type { Stored } from '../../store.ts'
import type { Queryable, Statement } from '../servers/connection.ts'
import { parsed, placed } from '../translating/document-layout.ts'
import { tableOf } from '../indexes.ts'
import { keyOf } from './keys.ts'
import { idBytes, quoted } from '../language.ts'

/** What is written: `put` where it is not known whether there is one. */
type Kind = 'insert' | 'update' | 'put' | 'delete'

interface Write {
  readonly kind: Kind
  readonly spec: TableSpec
  readonly id: string
  readonly document: Stored | undefined
  /** The document that it replaces, as far as known. */
  readonly old: Stored | undefined
  /** True when its unique values were seen to be free. */
  readonly isChecked: boolean
}

/** A statement of a write, and the document that it is about. */
export interface Sendable {
  readonly key: string
  readonly name: string
  readonly statement: Statement
  /** Returns by how many documents the statement made the collection grow. */
  readonly growth: (rows: readonly unknown[][]) => number
}

/** Returns a statement that writes no document. */
export function sendableOf(statement: Statement): Sendable {
  return { key: '', name: '', statement, growth: () => 0 }
}

/** The writes that wait, in the order in which their documents were first written. */
export class PendingWrites {
  #writes: Map<string, Write>

  constructor(writes: ReadonlyMap<string, Write> = new Map()) {
    this.#writes = new Map(writes)
  }

  get size(): number {
    return this.#writes.size
  }

  /** True when a document of the collection is among them. */
  touch(name: string): boolean {
    for (const { spec } of this.#writes.values()) if (spec.name === name) return true
    return false
  }

  /** Adds a write. What is inserted and then replaced is inserted as it is last. */
  add(write: Write): void {
    const key = keyOf(write.spec.name, write.id)
    const before = this.#writes.get(key)
    if (!before || write.kind === 'delete') this.#writes.set(key, write)
    else {
      const kind = before.kind === 'delete' ? 'update' : before.kind
      this.#writes.set(key, { ...write, kind, old: before.old })
    }
  }

  /** True when it is only assumed of a document or value that it is free. */
  get assume(): boolean {
    for (const { kind, spec, isChecked } of this.#writes.values())
      if (!isChecked && (kind === 'insert' || spec.unique.length > 0)) return true
    return false
  }

  /** True when a write of the document waits. */
  has(name: string, id: string): boolean {
    return this.#writes.has(keyOf(name, id))
  }

  copy(): PendingWrites {
    return new PendingWrites(this.#writes)
  }

  /** Takes all of them as statements. Of two documents with one unique value the statement before the second fails. */
  take(): readonly Sendable[] {
    const all = [...this.#writes.values()].flatMap((write) => [...checksOf(write), sendable(write)])
    this.#writes = new Map()
    return all
  }
}

/** Returns the values of a unique field that a document adds. */
export function addedKeys(
  field: string,
  document: Stored,
  old: Stored | undefined,
): ReturnType<typeof indexKeys> {
  const held = old ? indexKeys(fieldOf(old, field)) : []
  return indexKeys(fieldOf(document, field)).filter((key) => !held.includes(key))
}

/**
 * Returns statements that fail when another document holds a unique value, expired or not. Of two transactions that want the
 * same value, one collides: each has read where the other writes.
 */
function* checksOf({ spec, id, document, old, isChecked }: Write): Generator<Sendable> {
  if (!document || isChecked) return
  for (const field of spec.unique) {
    const added = addedKeys(field, document, old)
    if (added.length === 0) continue
    const values: unknown[] = [idBytes(id)]
    const text = `SELECT 1 / (CASE WHEN EXISTS (SELECT FROM assistant_core.document d
      WHERE d.collection = ${quoted(spec.name)} AND d.id <> $1 AND ${placed(field, added, (value) => `$${values.push(value)}`)}) THEN 0 ELSE 1 END)`
    const statement = { keep: true, text, values }
    yield { key: keyOf(spec.name, id), name: spec.name, statement, growth: () => 0 }
  }
}

/** Reads the other documents that hold some of the values of a unique field, each with one of these values. */
export async function holdersOf(
  on: Queryable,
  { name }: TableSpec,
  {
    id,
    field,
    wanted,
  }: { readonly id: string; readonly field: string; readonly wanted: readonly IndexKey[] },
): Promise<readonly { readonly holder: Stored; readonly value: IndexKey }[]> {
  const values: unknown[] = [idBytes(id)]
  const text = `SELECT d.body FROM assistant_core.document d
    WHERE d.collection = ${quoted(name)} AND d.id <> $1 AND ${placed(field, wanted, (value) => `$${values.push(value)}`)}`
  return (await on.rows({ keep: true, text, values })).flatMap(([body]) => {
    const holder = parsed(body)
    const value = indexKeys(fieldOf(holder, field)).find((key) => wanted.includes(key))
    return value === undefined ? [] : [{ holder, value }]
  })
}

function sendable({ kind, spec: { name }, id, document }: Write): Sendable {
  const [place, body] = [idBytes(id), JSON.stringify(document)]
  const here = `collection = ${quoted(name)} AND id = $1`
  const made = (growth: Sendable['growth'], text: string, ...values: unknown[]): Sendable => ({
    key: keyOf(name, id),
    name,
    statement: { keep: true, text, values },
    growth,
  })
  switch (kind) {
    case 'insert':
      return made(
        () => 1,
        `INSERT INTO assistant_core.document (collection, id, body) VALUES (${quoted(name)}, $1, $2)`,
        place,
        body,
      )
    case 'update':
      return made(() => 0, `UPDATE assistant_core.document SET body = $2 WHERE ${here}`, place, body)
    case 'delete':
      return made(
        (rows) => -rows.length,
        `DELETE FROM assistant_core.document WHERE ${here} RETURNING 1`,
        place,
      )
    default:
      // Of the table itself, since a table with partitions does not tell which row is new.
      return made(
        ([row]) => (row?.[0] === true ? 1 : 0),
        `INSERT INTO assistant_core.${tableOf(name)} (collection, id, body) VALUES (${quoted(name)}, $1, $2)
          ON CONFLICT (collection, id) DO UPDATE SET body = excluded.body RETURNING xmax = 0`,
        place,
        body,
      )
  }
}
