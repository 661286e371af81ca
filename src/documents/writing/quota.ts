/**
 * The quota of one person for each doctype: the documents that they own with files and comments of theirs, and the history
 * of their changes. Counted in the transaction that writes, so that the counts of all daemons agree;
 * a person without a count is counted at their next write, in a transaction of its own.
 */
import { compared, never } from '#state/questions.ts'
import { AppError } from '#leaf/errors.ts'
import type { Collection, Store } from '#state/store.ts'
import { collectionFor, type Documents, type Work } from '../documents.ts'
import type { Doctype } from '../platform/platform.ts'
import { inPages } from '../asking/reading.ts'

type Quota = Documents['quota']

/** The usage of one person in one doctype. */
interface Kept {
  readonly id: string
  readonly user: string
  readonly doctype: string
  readonly documents: number
  readonly bytes: number
}

/** Thrown when a person's usage of a doctype is not counted yet: after the count the transaction begins anew. */
export class Uncounted extends Error {
  readonly doctype: Doctype
  readonly user: string

  constructor(doctype: Doctype, user: string) {
    super(`what ${user} keeps of ${doctype.name} was not counted`)
    this.doctype = doctype
    this.user = user
  }
}

/**
 * Charges a change to a person's usage before it is made. AppError `forbidden` when that exceeds the quota
 * of one person, `unavailable` when nobody may keep more for now; less is always allowed. Throws Uncounted.
 */
export async function charge(
  { documents, principal, access: { doctype }, tx, isPlanted, ends, effects }: Work,
  user: string,
  bytes: number,
  count = 0,
): Promise<void> {
  if (isPlanted || (bytes === 0 && count === 0)) return
  if (bytes > 0 && ends === undefined) documents.store.requireRoom?.()
  const all = tx.in(keptBy(documents.store))
  const id = `${doctype.name}/${user}`
  const before = await all.get(id)
  if (!before) throw new Uncounted(doctype, user)
  const after = { ...before, documents: before.documents + count, bytes: before.bytes + bytes }
  // The program itself has no quota: the site decides what it makes.
  if (bytes > 0 && principal.user !== 'system' && ends === undefined)
    refuseExcess(after, count, principal.user, documents.quota)
  // What is done elsewhere counts when its end is recorded.
  if (!effects) await all.put(after)
}

/** Charges a document itself to its owner; what lies elsewhere takes no room here. */
export async function chargeDocument(work: Work, owner: string, bytes: number, count = 0): Promise<void> {
  if (!work.access.doctype.origin) await charge(work, owner, bytes, count)
}

/** Returns the bytes of a value as JSON. */
export function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Lists the people nearest to their quota, fullest first; each with the larger share of their two limits. */
export async function fullest(
  store: Store,
  { max_documents_per_user: most, max_bytes_per_user: mostBytes }: Quota,
  limit: number,
): Promise<readonly (Omit<Kept, 'id'> & { readonly percent: number })[]> {
  const by = (field: 'bytes' | 'documents') =>
    keptBy(store).find({ order: [{ field, descending: true }], limit })
  const both = new Map([...(await by('bytes')), ...(await by('documents'))].map((kept) => [kept.id, kept]))
  const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((100 * part) / whole))
  return [...both.values()]
    .map(({ user, doctype, documents, bytes }) => {
      const percent = Math.max(share(documents, most), share(bytes, mostBytes))
      return { user, doctype, documents, bytes, percent }
    })
    .toSorted((a, b) => b.percent - a.percent)
    .slice(0, limit)
}

/** Counts documents from before any count, and the first documents, whose history is charged to nobody. */
export async function countAnew(documents: Documents, { doctype, user }: Uncounted): Promise<void> {
  await documents.store.transaction(async (tx) => {
    const all = tx.in(keptBy(documents.store))
    const id = `${doctype.name}/${user}`
    if (await all.get(id)) return
    let [count, bytes] = [0, 0]
    // Of documents that lie elsewhere, nobody keeps more here than what belongs to them.
    const owned = { holds: doctype.origin ? never : compared('owner', '=', user) }
    for await (const page of inPages(collectionFor(documents, doctype, tx), owned)) {
      count += page.length
      for (const document of page) bytes += bytesOf(document)
    }
    await all.put({ id, user, doctype: doctype.name, documents: count, bytes })
  })
}

/** Counts what a person keeps of a doctype, where that was not done yet. */
export async function ensureCounted(documents: Documents, doctype: Doctype, user: string): Promise<void> {
  const [all, id] = usageOf(documents.store, doctype, user)
  if (!(await all.get(id))) await countAnew(documents, new Uncounted(doctype, user))
}

function refuseExcess(
  { user, doctype, documents, bytes }: Kept,
  count: number,
  caller: string,
  { max_documents_per_user: most, max_bytes_per_user: mostBytes }: Quota,
): void {
  const [isMany, isMuch] = [count > 0 && most > 0 && documents > most, mostBytes > 0 && bytes > mostBytes]
  if (!isMany && !isMuch) return
  const setting = isMany ? 'documents.max_documents_per_user' : 'documents.max_bytes_per_user'
  const used = isMany
    ? `you keep ${documents - count} ${doctype} documents of ${most} allowed`
    : `your ${doctype} documents with files, comments and history would take ${bytes} bytes of ${mostBytes} allowed`
  // The caller must not learn the usage of others.
  const who = user === caller ? used : `the owner of this ${doctype} keeps as much as one may`
  throw new AppError(
    'forbidden',
    `${who} (${setting}); delete what is not needed, or ask an administrator for more`,
  )
}

/** Returns where the usage of a person in a doctype is found: each change of theirs counts on there. */
export function usageOf(store: Store, doctype: Doctype, user: string): readonly [Collection<Kept>, string] {
  return [keptBy(store), `${doctype.name}/${user}`]
}

// Without an index, which each change would have to follow, and where the changes of one person would meet those of another.
function keptBy(store: Store): Collection<Kept> {
  return store.collection<Kept>({ name: 'platform.kept', former: ['bytes', 'documents'], contended: true })
}
