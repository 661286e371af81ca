/**
 * The history of documents: one entry a change, numbered without gaps per doctype. The numbers are
 * also how the search index knows what it has not seen yet.
 */
import type { AuditedChange } from '../audit/event.ts'
import type { Principal } from '../core/principal.ts'
import type { Collection, Store, Transaction } from '../store/store.ts'
import { equal } from '../core/expression-values.ts'
import { accessFor, type Documents, readable } from './documents.ts'
import { type Access, maskMarker } from './permission.ts'
import type { Doctype } from './platform.ts'
import { collectionOf } from './read-doctypes.ts'
import type { StoredDocument } from './stored.ts'

/** One change of a document. */
export interface HistoryEntry {
  /** The name of the document. */
  readonly document: string
  readonly time: string
  readonly user: string
  readonly client?: string
  /** `create`, `update`, `submit`, a workflow action, … */
  readonly action: string
  /** A value of a row is `items[row].qty`. */
  readonly changes: readonly AuditedChange[]
  readonly note?: string
}

interface StoredEntry extends HistoryEntry {
  readonly id: string
  /** Doctype and name, to find the history of one document. */
  readonly key: string
}

/** The last number that was given away. */
export interface LastNumber {
  readonly id: string
  readonly last: number
}

/** Adds an entry as part of the transaction. */
export async function recordChange(
  store: Store,
  tx: Transaction,
  doctype: Doctype,
  entry: HistoryEntry,
): Promise<void> {
  // Counted inside the transaction: a number that was given away before a rollback would be a gap.
  const counters = tx.in(countersOf(store))
  const last = ((await counters.get(doctype.name))?.last ?? 0) + 1
  await counters.put({ id: doctype.name, last })
  await tx
    .in(entriesOf(store))
    .insert({ ...entry, id: entryId(doctype, last), key: documentKey(doctype.name, entry.document) })
}

/** The number of the last change of any document of the doctype. */
export async function lastChange(store: Store, doctype: string): Promise<number> {
  return (await countersOf(store).get(doctype))?.last ?? 0
}

/** The history of a document that the principal may read, newest first, without the fields that it may not. */
export async function historyOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  limit: number,
): Promise<readonly Omit<HistoryEntry, 'document'>[]> {
  const access = accessFor(documents, principal, doctype)
  const document = await readable(documents, access, name)
  const all = await entriesOf(documents.store).find({
    where: { key: documentKey(doctype, name) },
    order: [{ field: 'id', descending: true }],
  })
  // A deleted document of the same name had a history of its own.
  const before = all.findIndex((entry) => entry.action === 'delete')
  const entries = (before < 0 ? all : all.slice(0, before)).slice(0, limit)
  return entries.map(({ time, user, client, action, changes, note }) => ({
    time,
    user,
    ...(client !== undefined && { client }),
    action,
    changes: changes.flatMap((change) => visibleChange(documents, access, document, change)),
    ...(note !== undefined && { note }),
  }))
}

/** The fields in which two versions of a document differ. */
export function differences(
  doctype: Doctype,
  before: StoredDocument,
  after: StoredDocument,
): AuditedChange[] {
  const changes: AuditedChange[] = []
  for (const name of ['docstatus', ...doctype.fields.keys()]) {
    const [from, to] = [before[name] ?? null, after[name] ?? null]
    if (doctype.fields.get(name)?.type === 'table') changes.push(...rowDifferences(name, from, to))
    else if (!sameValue(from, to)) changes.push({ field: name, from, to })
  }
  return changes
}

/** A document before it had any value of its own. */
export function blankOf(document: StoredDocument): StoredDocument {
  const { id, owner, creation, modified, modified_by: modifiedBy, docstatus } = document
  return { id, owner, creation, modified, modified_by: modifiedBy, docstatus }
}

/** Equality of stored values, rows and JSON included: what decides whether a field changed. */
export function sameValue(a: unknown, b: unknown): boolean {
  return (
    equal(a, b) || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))
  )
}

function rowDifferences(table: string, from: unknown, to: unknown): AuditedChange[] {
  const [old, now] = [rowsByName(from), rowsByName(to)]
  const changes: AuditedChange[] = []
  for (const [name, row] of now) {
    const before = old.get(name)
    if (!before) changes.push({ field: `${table}[${name}]`, from: null, to: row })
    else
      for (const column of new Set([...Object.keys(before), ...Object.keys(row)]))
        // A row that only moved has not changed.
        if (column !== 'idx' && !sameValue(before[column] ?? null, row[column] ?? null))
          changes.push({
            field: `${table}[${name}].${column}`,
            from: before[column] ?? null,
            to: row[column] ?? null,
          })
  }
  for (const [name, row] of old)
    if (!now.has(name)) changes.push({ field: `${table}[${name}]`, from: row, to: null })
  return changes
}

function rowsByName(rows: unknown): Map<string, Record<string, unknown>> {
  const list = Array.isArray(rows) ? (rows as Record<string, unknown>[]) : []
  return new Map(list.map((row) => [row['name'] as string, row]))
}

/** An old value appears as the principal sees that field of the document now, whoever could see it then. */
function visibleChange(
  documents: Documents,
  access: Access,
  document: StoredDocument,
  change: AuditedChange,
): AuditedChange[] {
  const [, table, column] = /^(\w+)(?:\[[^\]]*\](?:\.(\w+))?)?$/.exec(change.field) ?? []
  if (table === 'docstatus') return [change]
  const field = access.doctype.fields.get(table ?? '')
  if (!field) return []
  const columns = field.type === 'table' ? documents.platform.doctypes.get(field.doctype!)?.fields : undefined
  if (columns && column === undefined) {
    // A whole row: only the columns that may be seen.
    const clean = (row: unknown) =>
      row === null
        ? null
        : Object.fromEntries(
            Object.entries(row as Record<string, unknown>).filter(([name]) => {
              const part = columns.get(name)
              return part !== undefined && access.shows(part, document) === 'clear'
            }),
          )
    return access.shows(field, document) === 'clear'
      ? [{ ...change, from: clean(change.from), to: clean(change.to) }]
      : []
  }
  const shown = [field, ...(columns && column !== undefined ? [columns.get(column)] : [])].map((part) =>
    part ? access.shows(part, document) : 'hidden',
  )
  if (shown.includes('hidden')) return []
  return shown.includes('masked') ? [{ field: change.field, from: maskMarker, to: maskMarker }] : [change]
}

function entriesOf(store: Store): Collection<StoredEntry> {
  return store.collection<StoredEntry>({ name: 'platform.history', indexes: ['key'] })
}

function countersOf(store: Store): Collection<LastNumber> {
  return store.collection<LastNumber>({ name: 'platform.change' })
}

/** By what things of one document are found. No doctype has a slash in its name, so the first one ends it. */
export function documentKey(doctype: string, name: string): string {
  return `${doctype}/${name}`
}

function entryId(doctype: Doctype, n: number): string {
  // Padded, so that ids sort as the numbers do.
  return `${collectionOf(doctype.name)}#${String(n).padStart(12, '0')}`
}
