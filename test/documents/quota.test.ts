/** How much one person may keep: counted in the transaction that writes, given back by what is deleted, told in the refusal. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../src/core/principal.ts'
import { addComment, attachFile, removeAttachment } from '../../src/documents/belongings.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { bytesOf, fullest } from '../../src/documents/writing/quota.ts'
import { deleteDocument, updateDocument } from '../../src/documents/writing/updating.ts'
import { type Company, openCompany, plain, sales, someone } from './trading-company.ts'

const nobodyMore = (setting: string, used: RegExp) => (error: unknown) =>
  error instanceof AppError &&
  error.code === 'forbidden' &&
  error.message.includes(setting) &&
  used.test(error.message) &&
  error.message.includes('delete what is not needed, or ask an administrator for more')

async function write(company: Company, by: Principal, content = 'x'): Promise<string> {
  const { document } = await createDocument(company.documents, by, 'Note', { title: 'one', content })
  return String(document['name'])
}

function notes({ documents, platform }: Company) {
  return collectionFor(documents, platform.doctypes.get('Note')!)
}

async function keptBy({ documents }: Company, user: string): Promise<{ documents: number; bytes: number }> {
  const all = await fullest(documents.store, documents.quota, 100)
  const { documents: count, bytes } = all.find((one) => one.user === user && one.doctype === 'Note')!
  return { documents: count, bytes }
}

describe('how much one person keeps', () => {
  it('is refused beyond the number allowed, with nothing written or told, while others write', async (t) => {
    const quota = { max_documents_per_user: 2, max_bytes_per_user: 0 }
    const company = await openCompany(t, { quota })
    const first = await write(company, plain)
    await write(company, plain)
    const events = company.events.length
    const before = await notes(company).count()
    const refused = nobodyMore('documents.max_documents_per_user', /you keep 2 Note documents of 2 allowed/)
    await assert.rejects(write(company, plain), refused)
    assert.equal(await notes(company).count(), before)
    assert.equal(company.events.length, events)
    assert.deepEqual((await keptBy(company, plain.user)).documents, 2)
    await write(company, someone('other@example.com', 'Assistant User'))
    await deleteDocument(company.documents, plain, 'Note', first)
    await write(company, plain)
  })

  it('is refused beyond the bytes allowed, but what makes it less is not', async (t) => {
    const quota = { max_documents_per_user: 0, max_bytes_per_user: 4000 }
    const company = await openCompany(t, { quota })
    const name = await write(company, plain, 'x'.repeat(1000))
    const larger = { content: 'y'.repeat(3000) }
    const refused = nobodyMore('documents.max_bytes_per_user', /would take \d+ bytes of 4000 allowed/)
    await assert.rejects(updateDocument(company.documents, plain, 'Note', name, larger), refused)
    await assert.rejects(write(company, plain, 'x'.repeat(3000)), refused)
    assert.equal((await notes(company).get(name))!['content'], 'x'.repeat(1000))
    company.documents.quota.max_bytes_per_user = 100
    await deleteDocument(company.documents, plain, 'Note', name)
    assert.deepEqual(await keptBy(company, plain.user), { documents: 0, bytes: 0 })
  })

  it('counts updates by their difference, changes in the history, files and comments', async (t) => {
    const company = await openCompany(t)
    const { documents } = company
    const name = await write(company, plain)
    const size = async () => bytesOf((await notes(company).get(name))!)
    assert.deepEqual(await keptBy(company, plain.user), { documents: 1, bytes: await size() })
    await updateDocument(documents, plain, 'Note', name, { content: 'z'.repeat(500) })
    const history = (await keptBy(company, plain.user)).bytes - (await size())
    assert.ok(history > 500 && history < 700, `${history} bytes of history`)
    const content = Buffer.alloc(3000)
    const file = { fileName: 'a.txt', mimeType: 'text/plain', content }
    const attached = await attachFile(documents, plain, 'Note', name, file)
    assert.equal((await keptBy(company, plain.user)).bytes, (await size()) + history + 3000)
    await removeAttachment(documents, plain, 'Note', name, attached.id)
    await attachFile(documents, plain, 'Note', name, file)
    await deleteDocument(documents, plain, 'Note', name)
    assert.deepEqual(await keptBy(company, plain.user), { documents: 0, bytes: history })
  })

  it('counts what was there before anybody counted when its owner next writes', async (t) => {
    const company = await openCompany(t)
    const older = {
      owner: plain.user,
      creation: '',
      modified: '',
      modified_by: plain.user,
      docstatus: 0,
    } as const
    for (const id of ['a', 'b', 'c']) await notes(company).insert({ ...older, id, title: id })
    const there = await notes(company).find({ where: { owner: plain.user } })
    const bytes = there.reduce((sum, one) => sum + bytesOf(one), 0)
    await deleteDocument(company.documents, plain, 'Note', 'a')
    assert.deepEqual(await keptBy(company, plain.user), { documents: 2, bytes: bytes - bytesOf(there[0]!) })
  })

  it('counts whoever keeps more than is allowed once, and not at each refusal', async (t) => {
    const company = await openCompany(t, { quota: { max_documents_per_user: 2, max_bytes_per_user: 0 } })
    const { id: _, ...older } = (await notes(company).find({ limit: 1 }))[0]!
    for (let n = 0; n < 1200; n++) await notes(company).insert({ ...older, id: `n${n}`, owner: plain.user })
    const events = company.events.length
    const refused = nobodyMore(
      'documents.max_documents_per_user',
      /you keep 1200 Note documents of 2 allowed/,
    )
    await assert.rejects(write(company, plain), refused)
    assert.equal((await keptBy(company, plain.user)).documents, 1200)
    await notes(company).insert({ ...older, id: 'unheard', owner: plain.user })
    await assert.rejects(write(company, plain), refused)
    assert.equal(company.events.length, events)
  })

  it('counts nothing that is tried only, or taken back', async (t) => {
    const company = await openCompany(t, { quota: { max_documents_per_user: 1, max_bytes_per_user: 0 } })
    const data = { title: 'tried' }
    for (let n = 0; n < 3; n++) await createDocument(company.documents, plain, 'Note', data, { dryRun: true })
    await write(company, plain)
    await assert.rejects(
      createDocument(company.documents, plain, 'Note', data, { dryRun: true }),
      nobodyMore('documents.max_documents_per_user', /of 1 allowed/),
    )
    assert.equal((await keptBy(company, plain.user)).documents, 1)
  })

  it('comments count for whoever wrote them', async (t) => {
    const company = await openCompany(t)
    const { documents } = company
    const { document } = await createDocument(documents, sales, 'Lead', { lead_name: 'Ann' })
    await addComment(documents, sales, 'Lead', String(document['name']), 'c'.repeat(5000))
    const [most] = await fullest(documents.store, { max_documents_per_user: 10, max_bytes_per_user: 0 }, 1)
    assert.deepEqual([most!.user, most!.doctype, most!.percent], [sales.user, 'Lead', 10 * most!.documents])
    assert.ok(most!.bytes > 5000)
  })
})
