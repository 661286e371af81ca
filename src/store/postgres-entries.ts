/** What a document is found by, and the statements that keep it in step with the document. */
import { sha256 } from '../core/secrets.ts'
import { fieldOf, indexKeys, type IndexKey } from './field-index.ts'
import { codeOf, type Statement } from './postgres-connection.ts'
import { uniqueConstraint } from './postgres-tables.ts'
import type { Stored } from './store.ts'
import type { TableSpec } from './table.ts'

/** An id as it is stored: UTF-16, big end first, so that bytes sort as texts do here and none is lost. */
export function idBytes(id: string): Buffer {
  return Buffer.from(id, 'utf16le').swap16()
}

/** The id that was stored so. */
export function idText(bytes: Buffer): string {
  return Buffer.from(bytes).swap16().toString('utf16le')
}

/** One thing that a document can be found by. */
export interface Entry {
  readonly field: string
  readonly key: Buffer
  readonly single: boolean
  readonly value: IndexKey
}

/** What a document is to be found by, in an order that is the same for every writer. */
export function entriesOf(spec: TableSpec, document: Stored): readonly Entry[] {
  // What is asked about has indexes of the database's own.
  const fields = spec.ordered.length > 0 ? spec.unique : spec.indexes
  return fields.flatMap((field) =>
    indexKeys(fieldOf(document, field))
      .map((value) => ({ field, key: keyBytes(value), single: spec.unique.includes(field), value }))
      .sort((a, b) => a.key.compare(b.key)),
  )
}

/** A value as it is looked up: the digest of its JSON, so that a text and a number differ and no value is too long. */
export function keyBytes(value: IndexKey): Buffer {
  return Buffer.from(sha256(JSON.stringify(value)), 'base64url')
}

/** When a document ends; null when it does not. */
export function endAt(spec: TableSpec, document: Stored): number | null {
  const end = spec.expires === undefined ? undefined : fieldOf(document, spec.expires)
  return typeof end === 'number' ? end : null
}

const addedEntries = `INSERT INTO assistant_core.entry (collection, field, key, id, single)
  SELECT $1, e.field, e.key, written.id, e.single
  FROM written, unnest($5::text[], $6::bytea[], $7::boolean[]) AS e (field, key, single)`

/** Adds a document; answers no row when there is one. */
export function adding(values: readonly unknown[], added: readonly Entry[]): Statement {
  const insert = `INSERT INTO assistant_core.document (collection, id, body, ends) VALUES ($1, $2, $3, $4)
    ON CONFLICT (collection, id) DO NOTHING RETURNING id`
  if (added.length === 0) return { keep: true, text: insert, values }
  return {
    keep: true,
    text: `WITH written AS (${insert}), entries AS (${addedEntries}) SELECT id FROM written`,
    values: [...values, ...columns(added)],
  }
}

/** Replaces a document that is there, and what it is found by as far as that changes. */
export function replacing(
  values: readonly unknown[],
  gone: readonly Entry[],
  added: readonly Entry[],
): Statement {
  const update = 'UPDATE assistant_core.document SET body = $3, ends = $4 WHERE collection = $1 AND id = $2'
  if (added.length === 0 && gone.length === 0) return { keep: true, text: update, values }
  return {
    keep: true,
    text: `WITH written AS (${update} RETURNING id),
      entries AS (${addedEntries})
      DELETE FROM assistant_core.entry e USING unnest($8::text[], $9::bytea[]) AS g (field, key)
      WHERE e.collection = $1 AND e.id = $2 AND e.field = g.field AND e.key = g.key`,
    values: [...values, ...columns(added), gone.map(({ field }) => field), gone.map(({ key }) => key)],
  }
}

function columns(entries: readonly Entry[]): unknown[] {
  return [
    entries.map(({ field }) => field),
    entries.map(({ key }) => key),
    entries.map(({ single }) => single),
  ]
}

/** Equal for the same thing to be found by. */
export function textOf({ field, key }: Entry): string {
  return `${field}\n${key.toString('latin1')}`
}

/** Whether a statement failed because another document holds a unique value. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === '23505' && (error as { constraint?: string }).constraint === uniqueConstraint
}
