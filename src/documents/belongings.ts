/** Belongings of documents: comments, assignments, attachments. Whoever may read the document may read them. */
import { any, compared, type Condition } from '#state/questions.ts'
import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { type Principal, principalFor } from '../core/principal.ts'
import { randomId } from '#leaf/secrets.ts'
import { cleanText, show } from '../core/values.ts'
import type { Collection, Store } from '#state/store.ts'
import { accessFor, changeable, type Documents, readable, type Work, findReadable } from './documents.ts'
import { documentKey, ofKey } from './history.ts'
import { accessTo } from './permission.ts'
import { bytesOf, charge } from './writing/quota.ts'
import { type ChangeOptions, inWork, keep } from './work.ts'

interface Belonging {
  readonly id: string
  readonly key: string
  readonly user: string
  readonly time: string
}

/** A comment on a document; it stays as it is until the document goes. */
export interface Comment extends Belonging {
  readonly text: string
}

/** An assignment: a document that waits for a user, and `by` whom it was assigned. A user is assigned a document at most once. */
export interface Assignment extends Belonging {
  readonly by: string
  readonly note: string
}

/** The metadata of a file on a document. Its bytes lie in a collection of their own, so that lists stay small. */
export interface Attachment extends Belonging {
  readonly file_name: string
  readonly mime_type: string
  readonly bytes: number
}

/** The types of belongings, by kind. */
interface Belongings {
  readonly comment: Comment
  readonly assignment: Assignment
  readonly attachment: Attachment
}

/** The most bytes of an attached file. */
export const maxAttachmentBytes = 2 * 1024 * 1024
/** The most attachments of a document. With the largest size it bounds what one document can hold: 100 MiB. */
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
    throw new AppError('invalid', `a comment has 1 to 10000 characters, not ${clean.length}`)
  return await inWork(access, options, name, async (work) => {
    await changeable(access, 'comment', name, work.tx)
    const comment = {
      id: randomId(),
      key: documentKey(doctype, name),
      user: principal.user,
      time: isoTime(documents.clock.now()),
      text: clean,
    }
    await charge(work, comment.user, bytesOf(comment))
    await work.tx.in(belonging(documents.store, 'comment')).insert(comment)
    await keep(work, name, 'comment', [])
    return comment
  })
}

/** Assigns a document to a user who may read it, or takes the assignment back. Returns all its assignments. */
export async function assign(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  to: { readonly user: string; readonly note: string; readonly remove: boolean },
  options: ChangeOptions = {},
): Promise<readonly Assignment[]> {
  const access = accessFor(documents, principal, doctype)
  return await inWork(access, options, name, async (work) => {
    const document = await changeable(access, 'assign', name, work.tx)
    const assignments = work.tx.in(belonging(documents.store, 'assignment'))
    const key = documentKey(doctype, name)
    const user = documents.platform.people.find(to.user)
    const id = `${key}\n${(user?.id ?? to.user).toLowerCase()}`
    if (to.remove) {
      if (!(await assignments.delete(id)))
        throw new AppError(
          'not_found',
          `"${name}" is not assigned to ${to.user} (get_document tells to whom)`,
        )
      await keep(work, name, 'unassign', [], to.user)
    } else {
      const theirs =
        user && accessTo(principalFor(user, principal.requestId), access.doctype, documents.clock.now())
      // One answer covers both cases: no such user, and a user who may not read it.
      if (!user?.enabled || !theirs?.allows('read', document))
        throw new AppError(
          'invalid',
          `user: there is no user "${to.user}" who may read ${doctype} "${name}"; a user is an e-mail address, or me`,
        )
      await assignments.put({
        id,
        key,
        user: user.id,
        by: principal.user,
        time: isoTime(documents.clock.now()),
        note: cleanText(to.note),
      })
      await keep(work, name, 'assign', [], user.id)
    }
    return await assignments.find({ where: { key }, order: byTime })
  })
}

/**
 * Attaches a file to a document that the principal may write. AppError `invalid` for its name or size,
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
    throw new AppError('invalid', `file_name: must be a name without slashes, not ${show(fileName)}`)
  if (file.content.length === 0 || file.content.length > maxAttachmentBytes)
    throw new AppError(
      'invalid',
      `content: must have 1 to ${maxAttachmentBytes} bytes, not ${file.content.length}`,
    )
  return await inWork(access, options, name, async (work) => {
    await changeable(access, 'write', name, work.tx)
    const attachments = work.tx.in(belonging(documents.store, 'attachment'))
    const key = documentKey(doctype, name)
    const there = await attachments.find({ where: { key } })
    if (there.length >= mostAttachments)
      throw new AppError('conflict', `"${name}" has ${mostAttachments} files already (remove_attachment)`)
    if (there.some((other) => other.file_name === fileName))
      throw new AppError(
        'conflict',
        `"${name}" has an attachment "${fileName}" already; remove it or choose another name (remove_attachment)`,
      )
    const attachment: Attachment = {
      id: randomId(),
      key,
      file_name: fileName,
      mime_type: file.mimeType,
      bytes: file.content.length,
      user: principal.user,
      time: isoTime(documents.clock.now()),
    }
    await charge(work, attachment.user, attachment.bytes)
    await attachments.insert(attachment)
    const base64 = Buffer.from(file.content).toString('base64')
    await work.tx.in(contentsOf(documents.store)).insert({ id: attachment.id, base64 })
    await keep(work, name, 'attach', [], fileName)
    return attachment
  })
}

const mostListed = { limit: 1000, bytes: 1 << 20 }

/** Returns a document's belongings that the principal may read, oldest first; files without bytes. Of very many the newest. */
export async function listBelongings<K extends keyof Belongings>(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  kind: K,
): Promise<readonly Belongings[K][]> {
  await readable(accessFor(documents, principal, doctype), name)
  const newest = await belonging(documents.store, kind).find({
    where: { key: documentKey(doctype, name) },
    order: [{ field: 'time', descending: true }],
    ...mostListed,
  })
  return newest.toSorted((a, b) => (a.time === b.time ? (a.id < b.id ? -1 : 1) : a.time < b.time ? -1 : 1))
}

/** True when a document has a file of that id or name. */
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

/** Returns an attachment with its bytes; permission is that of its document. */
export async function readAttachment(
  documents: Documents,
  principal: Principal,
  id: string,
): Promise<{ readonly attachment: Attachment; readonly content: Uint8Array }> {
  const attachment = await belonging(documents.store, 'attachment').get(id)
  const content = await contentsOf(documents.store).get(id)
  // The file is asked for by id alone, and must not show that it exists.
  const seen = attachment && (await findReadable(documents, principal, ofKey(attachment.key)))
  if (seen && content) {
    seen.access.show([seen.document])
    return { attachment, content: Buffer.from(content.base64, 'base64') }
  }
  throw new AppError(
    'not_found',
    `there is no attachment "${id}" that you may read; list_attachments names those of a document`,
  )
}

/** Removes a file from a document that the principal may write, by its id or name; AppError `not_found` where there is none. */
export async function removeAttachment(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  id: string,
  options: ChangeOptions = {},
): Promise<Attachment> {
  const access = accessFor(documents, principal, doctype)
  return await inWork(access, options, name, async (work) => {
    await changeable(access, 'write', name, work.tx)
    const attachments = work.tx.in(belonging(documents.store, 'attachment'))
    const where = { key: documentKey(doctype, name) }
    const attachment = await attachments.first({ where, holds: called(id) })
    if (!attachment)
      throw new AppError('not_found', `"${name}" has no attachment "${id}" (list_attachments names them)`)
    await charge(work, attachment.user, -attachment.bytes)
    await attachments.delete(attachment.id)
    await work.tx.in(contentsOf(documents.store)).delete(attachment.id)
    await keep(work, name, 'detach', [], attachment.file_name)
    return attachment
  })
}

/** Removes all belongings of a document that is deleted. */
export async function removeBelongings(work: Work, name: string): Promise<void> {
  const { documents, access, tx, effects } = work
  if (effects) return
  for (const kind of ['comment', 'assignment', 'attachment'] as const) {
    const inside = tx.in<Belongings[typeof kind]>(belonging(documents.store, kind))
    for (const one of await inside.find({ where: { key: documentKey(access.doctype.name, name) } })) {
      if (kind !== 'assignment') await charge(work, one.user, 'bytes' in one ? -one.bytes : -bytesOf(one))
      await inside.delete(one.id)
      if (kind === 'attachment') await tx.in(contentsOf(documents.store)).delete(one.id)
    }
  }
}

/** Returns the collection of one kind. */
export function belonging<K extends keyof Belongings>(store: Store, kind: K): Collection<Belongings[K]> {
  const indexes = kind === 'assignment' ? (['key', 'user'] as const) : (['key'] as const)
  return store.collection<Belongings[K]>({ name: `platform.${kind}`, indexes })
}

function contentsOf(store: Store): Collection<{ readonly id: string; readonly base64: string }> {
  return store.collection({ name: 'platform.attachment_content' })
}

const byTime = [{ field: 'time' }]
