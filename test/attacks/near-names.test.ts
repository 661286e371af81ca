/** What is near a text is looked for among thousands of texts, and in statements of any length: others go on meanwhile. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { unknownTexts } from '../../src/analysis/statement-values.ts'
import { listDocuments } from '../../src/documents/asking/reading.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import type { StoredDocument } from '../../src/documents/writing/stored.ts'
import { openCompany, siteOf, someone } from '../documents/trading-company.ts'
import { spentBy } from './lag.ts'

const clerk = someone('ann@example.com', 'Clerk')
const count = 5000
/** A note like no other one, whose letters are those of every other one. */
const noteOf = (n: number, length: number): string =>
  Array.from({ length }, (_, at) =>
    String.fromCharCode(97 + ((at * 7919 + n * 104_729 + at * at * n) % 26)),
  ).join('')

async function withNotes(t: Parameters<typeof openCompany>[0], length: number): Promise<Documents> {
  const { documents } = await openCompany(t, {
    seeds: false,
    files: siteOf({
      'config/doctypes/thing.yaml':
        'doctype: Thing\nfields: [{fieldname: note, type: long_text}]\npermissions: [{role: Clerk, actions: [read]}]',
    }),
  })
  const things = collectionFor(documents, documents.platform.doctypes.get('Thing')!)
  const time = '2026-03-01T00:00:00.000Z'
  const standard = { owner: 'x', creation: time, modified: time, modified_by: 'x', docstatus: 0 as const }
  await documents.store.transaction(async (tx) => {
    for (let n = 0; n < count; n++) {
      const document: StoredDocument = { ...standard, id: `T-${n}`, note: noteOf(n, length) }
      await tx.in(things).insert(document)
    }
  })
  return documents
}

describe('looking for what is near', () => {
  for (const length of [90, 400])
    it(`gives others their turn among ${count} texts of ${length} letters`, async (t) => {
      const documents = await withNotes(t, length)
      const filters = { note: ['contains', noteOf(count + 1, length)] }
      const { longest } = await spentBy(() =>
        listDocuments(documents, clerk, { doctype: 'Thing', filters }).catch(() => undefined),
      )
      assert.ok(longest < 250, `${longest} ms`)
    })

  it('is not done for each of thousands of names in one call', async (t) => {
    const documents = await withNotes(t, 20)
    let read = 0
    const things = documents.memory.collections.get('Thing')!
    const find = things.find.bind(things)
    t.mock.method(things, 'find', (...asked: Parameters<typeof find>) => (read++, find(...asked)))
    const names = Array.from({ length: 40 }, (_, n) => noteOf(count + n, 20))
    const filters = Array.from({ length: 20 }, () => ['note', 'in', names])
    await listDocuments(documents, clerk, { doctype: 'Thing', filters }).catch(() => undefined)
    assert.ok(read < 20, `${read} readings`)
  })

  it('counts the parameters of the longest statement once', async (t) => {
    const documents = await withNotes(t, 20)
    const statement = `SELECT 1 FROM thing /* ${'a=? '.repeat(24_900)}*/`
    const parameters = Array.from({ length: 30_000 }, () => 5)
    const { longest } = await spentBy(() => unknownTexts(documents, clerk, statement, parameters))
    assert.ok(longest < 2000, `${longest} ms`)
    const [told = ''] = await unknownTexts(documents, clerk, 'SELECT ? FROM thing WHERE name = ?', [
      'x',
      'T-99999',
    ])
    assert.match(told, /T-99999/)
  })
})
