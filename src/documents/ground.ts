import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Collection, Store, Transaction } from '../store/store.ts'
import { type Access, accessTo } from './permission.ts'
import type { Action, Doctype, Platform } from './platform.ts'
import { unknown } from './doctype-reading.ts'
import { collectionOf } from './read-doctypes.ts'
import type { DocumentMemory } from './memory.ts'
import type { StoredDocument } from './stored.ts'

/** What the functions of this folder work with: one platform, and the state. */
export interface Ground {
  readonly platform: Platform
  readonly store: Store
  readonly audit: Audit
  readonly clock: Clock
  readonly memory: DocumentMemory
}

/** What the principal may do with a doctype; AppError `not_found` when it is not to know that there is one. */
export function accessFor(ground: Ground, principal: Principal, doctype: string): Access {
  const found = ground.platform.doctypes.get(doctype)
  const access = found && accessTo(principal, found, ground.clock.now())
  if (access && !found.child && (access.may('read') || access.may('create'))) return access
  const visible = [...ground.platform.doctypes.values()].filter(
    // The moment decides conditions only, and `may` looks at none.
    (other) => !other.child && accessTo(principal, other, 0).may('read'),
  )
  throw new AppError(
    'not_found',
    `${unknown(
      'doctype',
      doctype,
      visible.map((other) => other.name),
    )}; list_doctypes names those that you may use`,
  )
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
  ground: Ground,
  doctype: Doctype,
  tx?: Transaction,
): Collection<StoredDocument> {
  const { collections } = ground.memory
  const name = collectionOf(doctype.name)
  let collection = collections.get(name)
  if (!collection) {
    const indexed = [...doctype.fields.values()].filter((field) => field.indexed).map((field) => field.name)
    collection = ground.store.collection<StoredDocument>({ name, indexes: ['owner', ...indexed] })
    collections.set(name, collection)
  }
  return tx ? tx.in(collection) : collection
}

/** A document that the principal may read; the same AppError `not_found` for one it may not read and for none. */
export async function readable(
  ground: Ground,
  access: Access,
  name: string,
  tx?: Transaction,
): Promise<StoredDocument> {
  const document = await collectionFor(ground, access.doctype, tx).get(name)
  if (document && access.allows('read', document)) return document
  throw new AppError('not_found', `there is no ${access.doctype.name} "${name}" that you may read`)
}

/** A document that the principal may read and do this to; `forbidden` when it may only read it. */
export async function changeable(
  ground: Ground,
  access: Access,
  action: Action,
  name: string,
  tx?: Transaction,
): Promise<StoredDocument> {
  const document = await readable(ground, access, name, tx)
  if (access.allows(action, document)) return document
  throw new AppError('forbidden', `you may read ${access.doctype.name} "${name}" but not ${action} it`)
}
