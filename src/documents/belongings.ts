/** What hangs on a document: comments, assignments, attachments. Whoever may read the document may read them. */
import { any, compared, type Condition } from '../core/conditions.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { randomId } from '../core/secrets.ts'
import { cleanText } from '../core/values.ts'
import type { Collection, Store } from '../store/store.ts'
import { accessFor, changeable, type Documents, readable } from './documents.ts'
import { documentKey } from './history.ts'
import { accessTo } from './permission.ts'
import { type ChangeOptions, inWork, keep, type Work } from './work.ts'

/** What someone wrote on a document; it stays as it is until the document goes. */
export interface Comment {
  readonly id: string
  readonly key: string
  readonly user: string
  readonly time: string
  readonly text: string
}

/** A document that waits for a user; `by` is who said so. A user is assigned a document at most once. */
export interface Assignment {
  readonly id: string
  readonly key: string
  readonly user: string
  readonly by: string
  readonly time: string
  readonly note: string
}

/**
 * What is known of a file on a document. Its bytes lie in a collection of their own, so that lists stay
 * small.
 */
export interface Attachment {
  readonly id: string
  readonly key: string
  readonly file_name: string
  readonly mime_type: string
  readonly bytes: number
  readonly user: string
  readonly time: string
}

/** Everything that hangs on documents, by its kind. */
interface Belongings {
  readonly comment: Comment
  readonly assignment: Assignment
  readonly attachment: Attachment
}

/** The largest file that can be attached. */
export const maxAttachmentBytes = 2 * 1024 * 1024
/** With the largest size it bounds what one document can hold: 100 MiB. */
const mostAttachments = 50

/**
 * Adds a comment as the principal, for good. AppError `invalid` for an empty or too long text,
 * `forbidden` without the action.
 */
export async function addComment(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  text: string,
  options: ChangeOptions = {},
): Promise<Comment> {
  const access = accessFor(documents, principal, doctype)
  const clean = cleanText(text).trim()
  if (clean === '' || clean.length > 10_000)
    throw new AppError('invalid', 'a comment has 1 to 10000 characters')
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    await changeable(documents, access, 'comment', name, work.tx)
    const comment = {
      id: randomId(),
      key: documentKey(doctype, name),
      user: principal.user,
      time: now(documents),
      text: clean,
    }
    await work.tx.in(belonging(documents.store, 'comment')).insert(comment)
    await keep(work, access.doctype, name, 'comment', [])
    return comment
  })
}

/** Assigns a document to a user who may read it. */
export async function assign(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  to: { readonly user: string; readonly note: string; readonly remove: boolean },
  options: ChangeOptions = {},
): Promise<readonly Assignment[]> {
  const access = accessFor(documents, principal, doctype)
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    const document = await changeable(documents, access, 'assign', name, work.tx)
    const assignments = work.tx.in(belonging(documents.store, 'assignment'))
    const key = documentKey(doctype, name)
    const user = documents.platform.people.find(to.user)
    const id = `${key}\n${(user?.id ?? to.user).toLowerCase()}`
    if (to.remove) {
      if (!(await assignments.delete(id)))
        throw new AppError('not_found', `"${name}" is not assigned to ${to.user}`)
      await keep(work, access.doctype, name, 'unassign', [], to.user)
    } else {
      const theirs =
        user &&
        accessTo(
          { ...principal, user: user.id, fullName: user.fullName, roles: user.roles },
          access.doctype,
          documents.clock.now(),
        )
      // Whether there is such a user and whether they may read it is one answer.
      if (!user?.enabled || !theirs?.allows('read', document))
        throw new AppError('invalid', `user: there is no user "${to.user}" who may read ${doctype} "${name}"`)
      await assignments.put({
        id,
        key,
        user: user.id,
        by: principal.user,
        time: now(documents),
        note: cleanText(to.note),
      })
      await keep(work, access.doctype, name, 'assign', [], user.id)
    }
    return await assignments.find({ where: { key }, order: byTime })
  })
}

/**
 * Keeps a file with a document that the principal may write. AppError `invalid` for its name or size,
 * `conflict` for a name that is there already and for too many files.
 */
export async function attachFile(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  file: { readonly fileName: string; readonly mimeType: string; readonly content: Uint8Array },
  options: ChangeOptions = {},
): Promise<Attachment> {
  const access = accessFor(documents, principal, doctype)
  const fileName = cleanText(file.fileName).trim()
  // A name with slashes becomes a path where somebody saves the file.
  if (!/^[^/\\]{1,200}$/.test(fileName) || fileName === '.' || fileName === '..')
    throw new AppError('invalid', 'file_name: must be a name without slashes')
  if (file.content.length === 0 || file.content.length > maxAttachmentBytes)
    throw new AppError(
      'invalid',
      `content: must have 1 to ${maxAttachmentBytes} bytes, not ${file.content.length}`,
    )
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    await changeable(documents, access, 'write', name, work.tx)
    const attachments = work.tx.in(belonging(documents.store, 'attachment'))
    const key = documentKey(doctype, name)
    const there = await attachments.find({ where: { key } })
    if (there.length >= mostAttachments)
      throw new AppError('conflict', `"${name}" has ${mostAttachments} attachments already`)
    if (there.some((other) => other.file_name === fileName))
      throw new AppError(
        'conflict',
        `"${name}" has an attachment "${fileName}" already; remove it or choose another name`,
      )
    const attachment: Attachment = {
      id: randomId(),
      key,
      file_name: fileName,
      mime_type: file.mimeType,
      bytes: file.content.length,
      user: principal.user,
      time: now(documents),
    }
    await attachments.insert(attachment)
    const base64 = Buffer.from(file.content).toString('base64')
    await work.tx.in(contentsOf(documents.store)).insert({ id: attachment.id, base64 })
    await keep(work, access.doctype, name, 'attach', [], fileName)
    return attachment
  })
}

/** What hangs on a document that the principal may read, oldest first; files without their bytes. */
export async function listBelongings<K extends keyof Belongings>(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  kind: K,
): Promise<readonly Belongings[K][]> {
  await readable(documents, accessFor(documents, principal, doctype), name)
  return await belonging(documents.store, kind).find({
    where: { key: documentKey(doctype, name) },
    order: byTime,
  })
}

/** Whether a file of that id or name hangs on a document. */
export async function hasAttachment(
  work: Work,
  doctype: string,
  name: string,
  file: string,
): Promise<boolean> {
  const all = work.tx.in(belonging(work.documents.store, 'attachment'))
  return (await all.count({ where: { key: documentKey(doctype, name) }, holds: called(file) })) > 0
}

function called(file: string): Condition {
  return any(compared('id', '=', file), compared('file_name', '=', file))
}

/** An attachment with its bytes; permission is that of the document it hangs on. */
export async function readAttachment(
  documents: Documents,
  principal: Principal,
  id: string,
): Promise<{ readonly attachment: Attachment; readonly content: Uint8Array }> {
  const attachment = await belonging(documents.store, 'attachment').get(id)
  const content = await contentsOf(documents.store).get(id)
  if (attachment && content && (await mayRead(documents, principal, attachment.key)))
    return { attachment, content: Buffer.from(content.base64, 'base64') }
  throw new AppError(
    'not_found',
    `there is no attachment "${id}" that you may read; list_attachments names those of a document`,
  )
}

/**
 * Takes a file off a document that the principal may write, by the file's id or name; AppError
 * `not_found` where there is none.
 */
export async function removeAttachment(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  id: string,
  options: ChangeOptions = {},
): Promise<Attachment> {
  const access = accessFor(documents, principal, doctype)
  return await inWork(documents, principal, options.dryRun ?? false, async (work) => {
    await changeable(documents, access, 'write', name, work.tx)
    const attachments = work.tx.in(belonging(documents.store, 'attachment'))
    const attachment = await attachments.first({
      where: { key: documentKey(doctype, name) },
      holds: called(id),
    })
    if (!attachment) throw new AppError('not_found', `"${name}" has no attachment "${id}"`)
    await attachments.delete(attachment.id)
    await work.tx.in(contentsOf(documents.store)).delete(attachment.id)
    await keep(work, access.doctype, name, 'detach', [], attachment.file_name)
    return attachment
  })
}

/** Removes everything that hangs on a document that is deleted. */
export async function removeBelongings(work: Work, doctype: string, name: string): Promise<void> {
  const { documents, tx } = work
  for (const kind of ['comment', 'assignment', 'attachment'] as const) {
    const inside = tx.in<Belongings[typeof kind]>(belonging(documents.store, kind))
    for (const { id } of await inside.find({ where: { key: documentKey(doctype, name) } })) {
      await inside.delete(id)
      if (kind === 'attachment') await tx.in(contentsOf(documents.store)).delete(id)
    }
  }
}

/**
 * A file is asked for by its id alone, so whoever may not read its document must not learn that there
 * is one.
 */
async function mayRead(documents: Documents, principal: Principal, key: string): Promise<boolean> {
  const [doctype, name] = [key.slice(0, key.indexOf('/')), key.slice(key.indexOf('/') + 1)]
  try {
    await readable(documents, accessFor(documents, principal, doctype), name)
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false
    throw error
  }
}

function belonging<K extends keyof Belongings>(store: Store, kind: K): Collection<Belongings[K]> {
  const indexes = kind === 'assignment' ? (['key', 'user'] as const) : (['key'] as const)
  return store.collection<Belongings[K]>({ name: `platform.${kind}`, indexes })
}

function contentsOf(store: Store): Collection<{ readonly id: string; readonly base64: string }> {
  return store.collection({ name: 'platform.attachment_content' })
}

const byTime = [{ field: 'time' }]

function now(documents: Documents): string {
  return isoTime(documents.clock.now())
}
