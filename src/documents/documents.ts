/**
 * Business data: every verb takes the documents and the principal first and asks the one evaluator. What
 * the principal may not see is AppError `not_found`, everywhere.
 *
 * How the files of this folder play together:
 * - The site's YAML: `read-platform.ts` calls the other `read-*.ts` and gives one immutable `Platform`
 *   (`platform.ts`); `expression.ts` is the language of its conditions and computed fields.
 * - Who may: `permission.ts`, asked through this file, which turns "may not see" into `not_found`.
 * - Reading: `reading.ts`, `filters.ts`, `aggregating.ts`, `searching.ts`, `reports.ts`, `tables.ts`
 *   for analysis.
 * - Changing: `creating.ts`, `updating.ts`, `lifecycle.ts`, `workflow.ts`, `belongings.ts`. Each runs
 *   in a `Work` (`work.ts`): data are read (`preparing.ts`, `rows.ts`, `values.ts`), checked as a whole
 *   (`checking.ts`) and stored together with history and audit event.
 * - For operators: `explaining.ts`, `state-problems.ts`, `seeds.ts`.
 */
import { unknownName } from '../core/names.ts'
import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Collection, Store, Transaction } from '../store/store.ts'
import { type Access, accessTo } from './permission.ts'
import type { Action, Doctype, Platform } from './platform.ts'
import { collectionOf } from './read-doctypes.ts'
import type { DocumentMemory } from './memory.ts'
import type { Once } from './once.ts'
import type { RunSql } from './run-sql.ts'
import type { StoredDocument } from './stored.ts'
import { valueTypeOf } from './values.ts'

/** The documents under one reading of the site: what every verb of this folder takes first, before the principal. */
export interface Documents {
  readonly platform: Platform
  readonly store: Store
  readonly audit: Audit
  readonly clock: Clock
  readonly memory: DocumentMemory
  readonly runSql: RunSql
  /** The call under way, where its caller may send it again. */
  readonly once?: Once
}

/** What the principal may do with a doctype; AppError `not_found` when it is not to know that there is one. */
export function accessFor(documents: Documents, principal: Principal, doctype: string): Access {
  const found = documents.platform.doctypes.get(doctype)
  const access = found && accessTo(principal, found, documents.clock.now())
  if (access && !found.child && (access.may('read') || access.may('create'))) return access
  const visible = readableDoctypes(documents.platform, principal).map((other) => other.name)
  throw new AppError(
    'not_found',
    `${unknownName('doctype', doctype, visible)}; list_doctypes names those that you may use`,
  )
}

/** What the principal may do with each doctype of which it may read documents. */
export function readableAccesses({ platform, clock }: Documents, principal: Principal): Access[] {
  const now = clock.now()
  return readableDoctypes(platform, principal).map((doctype) => accessTo(principal, doctype, now))
}

const readableByRoles = new WeakMap<Platform, Map<string, readonly Doctype[]>>()

/** Looked up once for a role set, so that a request does not grow with what it may not see. */
function readableDoctypes(platform: Platform, principal: Principal): readonly Doctype[] {
  let known = readableByRoles.get(platform)
  if (!known) readableByRoles.set(platform, (known = new Map()))
  let found = known.get(principal.roleKey)
  if (!found) {
    found = [...platform.doctypes.values()].filter(
      // The moment decides conditions only, and `may` looks at none.
      (doctype) => !doctype.child && accessTo(principal, doctype, 0).may('read'),
    )
    known.set(principal.roleKey, found)
  }
  return found
}

/** Refuses an action that the principal may do on no document of the doctype. */
export function requireAction(access: Access, action: Action): void {
  if (!access.may(action))
    throw new AppError(
      'forbidden',
      `your roles do not allow you to ${action} ${access.doctype.name} documents`,
    )
}

/** The documents of the doctype, as a transaction sees them where one is given. */
export function collectionFor(
  documents: Documents,
  doctype: Doctype,
  tx?: Transaction,
): Collection<StoredDocument> {
  const { collections } = documents.memory
  let collection = collections.get(doctype.name)
  if (!collection) {
    const fields = [...doctype.fields.values()].filter((field) => field.indexed)
    const indexed = fields.map((field) => field.name)
    const texts = fields
      .filter(({ type }) => ['text', 'link'].includes(valueTypeOf(type)))
      .map((field) => field.name)
    collection = documents.store.collection<StoredDocument>({
      name: collectionOf(doctype.name),
      indexes: ['owner', ...indexed],
      ordered: ['creation', 'modified', 'owner', ...indexed],
      // Links are looked for by parts of names and titles.
      texts: ['id', ...(doctype.titleField === undefined ? [] : [doctype.titleField]), ...texts],
    })
    collections.set(doctype.name, collection)
  }
  return tx ? tx.in(collection) : collection
}

/** A document that the principal may read; the same AppError `not_found` for one it may not read and for none. */
export async function readable(
  documents: Documents,
  access: Access,
  name: string,
  tx?: Transaction,
): Promise<StoredDocument> {
  const document = await collectionFor(documents, access.doctype, tx).get(name)
  if (document && access.allows('read', document)) {
    access.show([document])
    return document
  }
  throw new AppError('not_found', `there is no ${access.doctype.name} "${name}" that you may read`)
}

/** A document that the principal may read and do this to; `forbidden` when it may only read it. */
export async function changeable(
  documents: Documents,
  access: Access,
  action: Action,
  name: string,
  tx?: Transaction,
): Promise<StoredDocument> {
  const document = await readable(documents, access, name, tx)
  if (access.allows(action, document)) return document
  throw new AppError('forbidden', `you may read ${access.doctype.name} "${name}" but not ${action} it`)
}
