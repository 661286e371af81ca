/**
 * Business data: every verb takes the documents and the principal first and asks the one evaluator. Anything that the
 * principal may not see is AppError `not_found`, everywhere.
 *
 * The files of this folder:
 * - The site's YAML: `read-platform.ts` calls the other `read-*.ts` and gives one immutable `Platform`
 *   (`platform.ts`); `expression.ts` is the language of its conditions and computed fields.
 * - Permission: `permission.ts`, asked through this file, which turns "may not see" into `not_found`.
 * - Reading: `reading.ts`, `filters.ts`, `aggregating.ts`, `searching.ts`, `reports.ts`, `tables.ts`
 *   for analysis.
 * - Changing: `creating.ts`, `updating.ts`, `lifecycle.ts`, `workflow.ts`, `belongings.ts`. Each runs
 *   in a `Work` (`work.ts`): data are read (`preparing.ts`, `rows.ts`, `values.ts`), checked as a whole
 *   (`checking.ts`) and stored together with history and audit event.
 * - Files of rows: `importing/` reads them where the operator is (`open-source.ts`, `plan.ts`) and makes documents of them
 *   batch by batch (`import-rows.ts`); `exporting.ts` writes them.
 * - For operators: `explaining.ts`, `state-problems.ts`, `seeds.ts`, which `read-seeds.ts` reads.
 */
import { unknownAmong } from '#leaf/names.ts'
import type { Audit } from '#audit/audit.ts'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { Remembered } from '#leaf/remembered.ts'
import type { Principal } from '../core/principal.ts'
import type { Stop } from '#leaf/stop.ts'
import type { Settings } from '../core/settings.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import { meant } from './asking/near-names.ts'
import { type Access, accessTo, Granted } from './permission.ts'
import { type Action, actions, type Doctype, type Platform } from './platform/platform.ts'
import { originActions } from './platform/standard-fields.ts'
import { collectionOf } from './platform/read-doctypes.ts'
import type { DocumentMemory } from './memory.ts'
import type { Once } from './writing/once.ts'
import type { RunSql } from './reports/run-sql.ts'
import type { Effect, Tables } from './tables-of-others.ts'
import type { StoredDocument } from './writing/stored.ts'
import { valueTypeOf } from './values.ts'

/** The documents under one reading of the site: the first argument of every verb of this folder, before the principal. */
export interface Documents {
  readonly platform: Platform
  readonly store: Store
  readonly audit: Audit
  readonly clock: Clock
  readonly memory: DocumentMemory
  readonly runSql: RunSql
  /** The quota of one person for each doctype; 0 is as much as they like. */
  readonly quota: Pick<Settings['documents'], 'max_documents_per_user' | 'max_bytes_per_user'>
  /** The currency of all amounts, by its letters of ISO 4217. */
  readonly currency?: string | null | undefined
  /** The fields of which the audit log keeps no value, where they are more than those that are confidential. */
  readonly unrecorded?: ReadonlySet<string> | undefined
  /** The call under way, where its caller may send it again. */
  readonly once?: Once | undefined
  /** Ends the queries of the call under way, outside of transactions. */
  readonly stop?: Stop | undefined
  /** Who asks, as databases of others are told. */
  readonly asker?: Principal | undefined
  /** The tables of others that hold documents. */
  readonly tables?: Tables | undefined
}

/** The access of a principal, with the documents themselves. */
export interface Reach extends Access {
  readonly documents: Documents
  /** Returns all documents of the doctype: what `where` does not name must not be shown. */
  collection(tx?: Transaction): Collection<StoredDocument>
}

/** A transaction under way that changes documents of one doctype. */
export interface Work {
  readonly documents: Documents
  readonly principal: Principal
  readonly access: Reach
  readonly tx: Transaction
  /** True when nothing of it will be kept. */
  readonly dry: boolean
  /** The name leased for the document that is created. */
  readonly leased?: string | undefined
  /** Takes what has to be recorded once it is done, where documents lie elsewhere: until then nothing is. */
  readonly effects?: Effect[]
  /** The end that it records of an intention: that was done already, so that no quota refuses it. */
  readonly ends?: Readonly<Record<string, string>> & { readonly intention: string }
  /** True for one of the first documents, whose owner is counted at their next write. */
  readonly isPlanted?: boolean
}

/**
 * Returns the documents as a principal asks for them in a call, whom they are told of in words of their language. Written
 * out, so that none is forgotten: spreading costs as much as the checks of a call.
 */
export function askedBy(
  documents: Documents,
  asker: Principal,
  { once, stop }: Pick<Documents, 'once' | 'stop'> = documents,
): { readonly [Key in keyof Required<Documents>]: Documents[Key] } {
  const { store, audit, clock, memory, runSql, quota, currency, unrecorded, tables } = documents
  const platform = documents.platform.translated.get(asker.language ?? '') ?? documents.platform
  return {
    platform,
    store,
    audit,
    clock,
    memory,
    runSql,
    quota,
    currency,
    unrecorded,
    once,
    stop,
    asker,
    tables,
  }
}

/** Returns the principal's access to documents of a doctype, whatever it may do there. */
export function reachOf(documents: Documents, principal: Principal, doctype: Doctype): Reach {
  return new Reaching(documents, principal, doctype)
}

class Reaching extends Granted implements Reach {
  readonly documents: Documents

  constructor(documents: Documents, principal: Principal, doctype: Doctype) {
    super(principal, doctype, documents.clock.now())
    this.documents = documents
  }

  collection(tx?: Transaction): Collection<StoredDocument> {
    return collectionFor(this.documents, this.doctype, tx)
  }
}

/** Returns the principal's access to a doctype; AppError `not_found` when the principal may not know that it exists. */
export function accessFor(documents: Documents, principal: Principal, doctype: string): Reach {
  const found = documents.platform.doctypes.get(doctype)
  const access = found && reachOf(documents, principal, found)
  if (access && !found.child && (access.may('read') || access.may('create'))) {
    principal.shown?.ask(doctype)
    return access
  }
  const visible = readableDoctypes(documents.platform, principal).map((other) => other.name)
  throw new AppError(
    'not_found',
    `${unknownAmong('doctype', doctype, visible)} (list_doctypes names those that you may use)`,
  )
}

/** Returns the principal's access to each doctype of which it may read documents. */
export function readableAccesses(documents: Documents, principal: Principal): Reach[] {
  return readableDoctypes(documents.platform, principal).map((doctype) =>
    reachOf(documents, principal, doctype),
  )
}

const readableByRoles = new Remembered<Platform, readonly Doctype[]>()

/** Returns the readable doctypes, computed once for a role set, so that a request does not grow with what it may not see. */
function readableDoctypes(platform: Platform, principal: Principal): readonly Doctype[] {
  return readableByRoles.of(platform, principal.roleKey, () =>
    [...platform.doctypes.values()].filter(
      // The time decides only conditions, and `may` looks at none.
      (doctype) => !doctype.child && accessTo(principal, doctype, 0).may('read'),
    ),
  )
}

/** Refuses an action that the principal may do on no document of the doctype. */
export function requireAction(access: Access, action: Action): void {
  if (access.may(action)) return
  const { name, origin } = access.doctype
  throw new AppError(
    'forbidden',
    origin && Object.keys(origin.write).length === 0 && !originActions(origin).includes(action)
      ? `${name} documents lie in the source "${origin.source}", which is only read: nobody can ${action} them here`
      : `your roles do not allow you to ${action} ${name} documents${allowedOf((one) => access.may(one))}`,
  )
}

/** Returns `; you may read, comment them`: what is left of a doctype, or of one document, to whom one action is refused. */
export function allowedOf(allows: (action: Action) => boolean): string {
  const left = actions.filter((action) => action !== 'report' && allows(action))
  return left.length === 0 ? '' : `; you may ${left.join(', ')}`
}

/** Returns the documents of the doctype, as a transaction sees them where one is given. */
export function collectionFor(
  documents: Documents,
  doctype: Doctype,
  tx?: Transaction,
): Collection<StoredDocument> {
  if (doctype.origin) return documents.tables?.collection(doctype, documents) ?? unopened(doctype)
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
      // Links are searched by parts of names and titles.
      texts: ['id', ...(doctype.titleField === undefined ? [] : [doctype.titleField]), ...texts],
    })
    collections.set(doctype.name, collection)
  }
  if (tx) return tx.in(collection)
  return documents.stop ? collection.until(documents.stop) : collection
}

/** Returns what a source answers; undefined while it is away or has changed, where there is more to show. */
export async function unlessAway<R>(
  { platform }: Documents,
  doctype: string,
  asked: Promise<R>,
): Promise<R | undefined> {
  return await asked.catch((error: unknown) => {
    const isElsewhere = platform.doctypes.get(doctype)?.origin !== undefined
    if (isElsewhere && error instanceof AppError && error.code === 'unavailable') return undefined
    throw error
  })
}

/** Passes on pages of rows that are all read: of a table of others only so many. AppError `invalid` beyond. */
export async function* notTooMany<T>(
  { doctype: { name, origin } }: Access,
  pages: AsyncIterable<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  let rows = 0
  for await (const page of pages) {
    rows += page.length
    if (origin && rows > origin.mostRows)
      throw new AppError(
        'invalid',
        `${name} has more than ${origin.mostRows} rows that you may read, too many for statements and programs: ask with aggregate, count_documents or list_documents`,
      )
    yield page
  }
}

/** Throws that the source of a doctype is not open. */
export function unopened({ name, origin }: Doctype): never {
  throw new AppError(
    'unavailable',
    `${name} documents lie in the source "${origin!.source}", which is not open here`,
  )
}

/** Finds a document that something names; undefined where the principal may read none of that name. */
export async function findReadable(
  documents: Documents,
  principal: Principal,
  { doctype, name }: { readonly doctype: string; readonly name: string },
  tx?: Transaction,
): Promise<{ readonly access: Reach; readonly document: StoredDocument } | undefined> {
  const found = documents.platform.doctypes.get(doctype)
  const access = found && !found.child ? reachOf(documents, principal, found) : undefined
  const document = access?.may('read') ? await access.collection(tx).get(name) : undefined
  return document && access!.allows('read', document) ? { access: access!, document } : undefined
}

/** Returns a document that the principal may read; the same AppError `not_found` for one it may not read and for none. */
export async function readable(access: Reach, name: string, tx?: Transaction): Promise<StoredDocument> {
  const document = await access.collection(tx).get(name)
  if (document && access.allows('read', document)) {
    access.show([document])
    return document
  }
  const near = access.may('read') ? await meant(access, name) : ''
  const hint = near === '' && access.may('read') ? ' (search_link finds names)' : near
  throw new AppError('not_found', `there is no ${access.doctype.name} "${name}" that you may read${hint}`)
}

/** Returns a document that the principal may read and do this to; `forbidden` when it may only read it. */
export async function changeable(
  access: Reach,
  action: Action,
  name: string,
  tx?: Transaction,
): Promise<StoredDocument> {
  const document = await readable(access, name, tx)
  if (access.allows(action, document)) return document
  const allowed = allowedOf((one) => one !== 'read' && access.allows(one, document))
  throw new AppError(
    'forbidden',
    `you may read ${access.doctype.name} "${name}" but not ${action} it${allowed}`,
  )
}
