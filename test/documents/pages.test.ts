import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countDocuments } from '../helpers/count-documents.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { listDocuments } from '../../src/documents/asking/reading.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/asking/searching.ts'
import { deleteDocument } from '../../src/documents/writing/updating.ts'
import { fitRows } from '../../src/tools/gate/fit-rows.ts'
import type { Fault } from '#site/site-files.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { openCompany, siteOf, someone } from './trading-company.ts'

const clerk = someone('clerk@example.com', 'Clerk')
const site = (when = '') =>
  siteOf({
    'config/doctypes/thing.yaml': `
doctype: Thing
naming: {rule: series, series: "T-#"}
fields: [{fieldname: rank, type: integer}, {fieldname: note, type: text}]
permissions: [{role: Clerk, actions: [read, create, delete]${when && `, when: '${when}'`}}]`,
  })

describe('pages that go on after a row', () => {
  it('neither skip nor repeat while others write, whatever the order', async (t) => {
    const { documents } = await openCompany(t, { files: site(), seeds: false })
    const names: unknown[] = []
    for (let n = 0; n < 20; n++)
      names.push((await createDocument(documents, clerk, 'Thing', { rank: n % 3 })).document['name'])
    for (const orderBy of ['creation desc', 'rank desc, name asc', 'name asc', 'rank']) {
      const seen: unknown[] = []
      let cursor: string | undefined
      for (;;) {
        const page = await listDocuments(documents, clerk, {
          doctype: 'Thing',
          orderBy,
          limit: 6,
          ...(cursor !== undefined && { cursor }),
        })
        seen.push(...page.data.map(({ name }) => name))
        if (!page.more) break
        cursor = page.cursorAfter(page.data.length)
        // What is new stands before what was seen, and pages by offset would show a row twice.
        if (orderBy === 'creation desc') await createDocument(documents, clerk, 'Thing', { rank: 1 })
      }
      assert.deepEqual(new Set(seen).size, seen.length, orderBy)
      for (const name of names) assert.ok(seen.includes(name), `${orderBy} ${String(name)}`)
    }
  })

  it('count no more than ten thousand beside them, and say so', async (t) => {
    const { documents, platform } = await openCompany(t, { files: site(), seeds: false })
    const things = collectionFor(documents, platform.doctypes.get('Thing')!)
    const time = '2026-03-01T10:00:00.000Z'
    const document = {
      owner: clerk.user,
      creation: time,
      modified: time,
      modified_by: '',
      docstatus: 0,
    } as const
    await documents.store.transaction(async (tx) => {
      for (let n = 1; n <= 10_001; n++) await tx.in(things).insert({ ...document, id: `T-${n}`, rank: n })
    })
    const list = async (filters: object, offset = 0) => {
      const page = await listDocuments(documents, clerk, { doctype: 'Thing', filters, offset })
      return fitRows({ data: page.data }, 'data', page, 100_000)
    }
    const { data: _, next_cursor: __, ...all } = await list({})
    assert.deepEqual(all, {
      count: 20,
      total_count: 10_000,
      more_than_total: true,
      has_more: true,
      next_offset: 20,
    })
    assert.equal((await list({}, 9_990))['next_offset'], undefined)
    assert.equal((await list({}, 9_970))['next_offset'], 9_990)
    const fewer = await list({ rank: ['<=', 10_000] })
    assert.deepEqual([fewer['total_count'], fewer['more_than_total']], [10_000, undefined])
    assert.equal(await countDocuments(documents, clerk, 'Thing'), 10_001)
    const suggested = await suggestLinks(documents, clerk, { doctype: 'Thing', typed: 't-', limit: 5 })
    assert.deepEqual([suggested.total, suggested.moreThanTotal], [10_000, true])
  })

  it('go on where the last row was, though it is gone', async (t) => {
    const { documents } = await openCompany(t, { files: site(), seeds: false })
    for (let n = 0; n < 4; n++) await createDocument(documents, clerk, 'Thing', {})
    const list = { doctype: 'Thing', orderBy: 'name asc', limit: 2 }
    const first = await listDocuments(documents, clerk, list)
    await deleteDocument(documents, clerk, 'Thing', String(first.data[1]!['name']))
    const second = await listDocuments(documents, clerk, { ...list, cursor: first.cursorAfter(2) })
    assert.deepEqual(
      second.data.map(({ name }) => name),
      ['T-3', 'T-4'],
    )
  })

  it('are refused with the cursor of another order, and with one that nobody gave', async (t) => {
    const { documents } = await openCompany(t, { files: site(), seeds: false })
    await createDocument(documents, clerk, 'Thing', {})
    const page = await listDocuments(documents, clerk, { doctype: 'Thing' })
    const object = Buffer.from('[[{"field":"id","descending":false}],{"a":1},"x"]').toString('base64url')
    for (const cursor of [page.cursorAfter(1), 'x', '', object])
      await assert.rejects(listDocuments(documents, clerk, { doctype: 'Thing', orderBy: 'name', cursor }), {
        code: 'invalid',
        message: /^cursor: /,
      })
  })
})

describe('a search', () => {
  it('leaves single letters out where there are words, and asks for twelve words at most', async (t) => {
    const { documents } = await openCompany(t, { files: site(), seeds: false })
    for (const note of ['zebra', 'x y z', 'word13 only'])
      await createDocument(documents, clerk, 'Thing', { note })
    const names = async (words: string): Promise<readonly string[]> =>
      (await searchDocuments(documents, clerk, { words, doctype: 'Thing', limit: 9 })).results.map(
        ({ name }) => name,
      )
    assert.deepEqual(await names('x y z zebra'), ['T-1'])
    assert.deepEqual(await names('x y'), ['T-2'])
    assert.deepEqual(await names('word13'), ['T-3'])
    assert.deepEqual(
      await names(
        Array.from({ length: 13 }, (_, n) => `word${n + 1}xyz`)
          .join(' ')
          .replace('word13xyz', 'only'),
      ),
      [],
    )
  })
})

describe('a rule that no statement can answer', () => {
  const warningsOf = (when: string): string[] => {
    const [files, faults, warnings]: [ReturnType<typeof site>, Fault[], Fault[]] = [site(when), [], []]
    readPlatform(files, faults, readPeople(files, []), warnings)
    assert.deepEqual(faults, [])
    return warnings.map(({ path, message }) => `${path} ${message}`)
  }

  it('is named with the reason, and one that it can answer is not', () => {
    assert.deepEqual(warningsOf('round(doc.rank) = 2 or doc.rank > 1'), [
      'permissions[0].when is asked of each document by itself, because of round(): lists of many documents take long',
    ])
    assert.match(warningsOf('doc.rank % 2 = 1')[0]!, /because of what it compares/)
    for (const when of [
      'doc.rank > 1 and not (doc.note = "a")',
      'doc.owner = user.id or has_role("Boss")',
      'lower(doc.note) = "a" or doc.rank * 2 > 3',
    ])
      assert.deepEqual(warningsOf(when), [])
  })
})
