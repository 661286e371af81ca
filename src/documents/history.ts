/**
 * The history of documents: one entry a change, in the order of the transactions. Nothing of it is read and written by all who
 * change a doctype, since they would wait for each other.
 */
import type { AuditedChange } from '#audit/recording.ts'
import type { Principal } from '../core/principal.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import { all as both, compared, equal } from '#state/questions.ts'
import { accessFor, type Documents, readable, type Reach } from './documents.ts'
import type { Doctype } from './platform/platform.ts'
import { collectionOf } from './platform/read-doctypes.ts'
import { type StoredDocument, rowsIn } from './writing/stored.ts'

/** A change of a document. */
export interface HistoryEntry {
  /** The name of the document. */
  readonly document: string
  readonly time: string
  readonly user: string
  readonly client?: string
  /** The action: `create`, `update`, `submit`, a workflow action, … */
  readonly action: string
  /** The changed values; a value of a row is `items[row].qty`. */
  readonly changes: readonly AuditedChange[]
  readonly note?: string
}

interface StoredEntry extends HistoryEntry {
  readonly id: string
  /** Doctype and name, to find the history of one document. */
  readonly key: string
}

/** A mark of a doctype, which some of its changes replace. */
interface ChangeMark {
  readonly id: string
  readonly last: string | number
}

/** The digits of a mark: there are 256 in a doctype, so that who changes different documents of it at once rarely meets. */
const markDigits = 2

/** The number of entries that a transaction has added. */
const added = new WeakMap<Transaction, number>()

/** Adds an entry as part of the transaction. */
export async function recordChange(
  store: Store,
  tx: Transaction,
  { name }: Doctype,
  entry: HistoryEntry,
): Promise<void> {
  const n = added.get(tx) ?? 0
  added.set(tx, n + 1)
  const mark = `${name}#${Buffer.from(sha256(entry.document), 'base64url').toString('hex').slice(0, markDigits)}`
  await tx.in(changeMarks(store)).put({ id: mark, last: randomId() })
  const id = entryId(name, await tx.time(), n)
  await tx.in(historyEntries(store)).insert({ ...entry, id, key: documentKey(name, entry.document) })
}

/** Returns a text that is another one after every change of a document of the doctype. */
export async function lastChange(store: Store, doctype: string): Promise<string> {
  const all = changeMarks(store)
  // What changed up to version 2.14 counted on in one number.
  const [before, found] = await Promise.all([
    all.get(doctype),
    all.find({ holds: both(compared('id', '>=', `${doctype}#`), compared('id', '<', `${doctype}$`)) }),
  ])
  return sha256([before, ...found].map((one) => `${one?.id} ${one?.last}`).join('\n'))
}

/** About the most bytes of history that are read, as changes may hold long texts. */
const mostShownBytes = 1 << 20

/** Returns the history of a document that the principal may read, newest first, without the fields that it may not. */
export async function historyOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  limit: number,
): Promise<readonly Omit<HistoryEntry, 'document'>[]> {
  const access = accessFor(documents, principal, doctype)
  const document = await readable(access, name)
  const all = await historyEntries(documents.store).find({
    where: { key: documentKey(doctype, name) },
    order: [{ field: 'id', descending: true }],
    limit,
    bytes: mostShownBytes,
  })
  // A deleted document of the same name had a history of its own.
  const before = all.findIndex((entry) => entry.action === 'delete')
  const entries = before < 0 ? all : all.slice(0, before)
  return entries.flatMap(({ time, user, client, action, changes, note }) => {
    const visible = changes.flatMap((change) => visibleChange(access, document, change))
    // That a hidden value changed, and when, is no more for everybody than the value.
    if (action === 'update' && visible.length === 0 && changes.length > 0) return []
    const told = { ...(client !== undefined && { client }), ...(note !== undefined && { note }) }
    return [{ time, user, action, changes: visible, ...told }]
  })
}

/** Returns the fields in which two versions of a document differ. */
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

/** Returns a document as it was before it had any value of its own. */
export function blankOf(document: StoredDocument): StoredDocument {
  const { id, owner, creation, modified, modified_by: modifiedBy, docstatus } = document
  return { id, owner, creation, modified, modified_by: modifiedBy, docstatus }
}

/** True when stored values are equal, rows and JSON included; this decides whether a field changed. */
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
  return new Map(rowsIn(rows).map((row) => [row['name'] as string, row]))
}

/** Shows an old value as the principal sees that field of the document now, whoever could see it then. */
function visibleChange(access: Reach, document: StoredDocument, change: AuditedChange): AuditedChange[] {
  const [, table, column] = /^(\w+)(?:\[[^\]]*\](?:\.(\w+))?)?$/.exec(change.field) ?? []
  if (table === 'docstatus') return [change]
  const field = access.doctype.fields.get(table ?? '')
  if (!field) return []
  const columns =
    field.type === 'table' ? access.documents.platform.doctypes.get(field.doctype!)?.fields : undefined
  if (columns && column === undefined) {
    // Of a whole row, only the columns that may be seen remain.
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
  return shown.every((one) => one === 'clear') ? [change] : []
}

/** Returns the collection of all entries. */
export function historyEntries(store: Store): Collection<StoredEntry> {
  return store.collection<StoredEntry>({ name: 'platform.history', indexes: ['key'] })
}

function changeMarks(store: Store): Collection<ChangeMark> {
  return store.collection<ChangeMark>({ name: 'platform.change' })
}

/** Returns the key of all records of one document. No doctype has a slash in its name, so the first one ends it. */
export function documentKey(doctype: string, name: string): string {
  return `${doctype}/${name}`
}

/** Returns what a key is of. */
export function ofKey(key: string): { readonly doctype: string; readonly name: string } {
  const end = key.indexOf('/')
  return { doctype: key.slice(0, end), name: key.slice(end + 1) }
}

/** Returns an id that sorts after those of earlier changes of the same document, also after the small numbers of up to 2.14. */
function entryId(doctype: string, time: number, n: number): string {
  const moment = String(Math.round(time * 1000)).padStart(16, '0')
  return `${collectionOf(doctype)}#${moment}.${String(n).padStart(6, '0')}.${randomId().slice(0, 8)}`
}
