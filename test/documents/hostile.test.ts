/** Questions that are made to cost the others something, or to tell what their asker may not read. */
import { searchDocuments } from '../../src/documents/asking/searching.ts'
import { listDocuments } from '../../src/documents/asking/reading.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { type Company, openCompany, sales, siteOf, someone } from './trading-company.ts'

const refuses = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error))
  assert.equal(error.code, 'invalid')
  assert.match(error.message, message)
  assert.ok(error.message.length < 100_000, `the answer is short: ${error.message.length}`)
  return true
}

const clerk = someone('clerk@example.com', 'Clerk')
const boss = someone('boss@example.com', 'Boss')

/** Texts that each keeps for itself. */
async function diaries(t: Parameters<typeof openCompany>[0]): Promise<Company> {
  const diary = {
    doctype: 'Diary',
    title_field: 'title',
    fields: [
      { fieldname: 'title', type: 'text' },
      { fieldname: 'content', type: 'long_text' },
    ],
    permissions: ['Clerk', 'Boss'].map((role) => ({ role, actions: ['read', 'create'], if_owner: true })),
  }
  return await openCompany(t, { files: siteOf({ 'config/doctypes/diary.yaml': JSON.stringify(diary) }) })
}

describe('a search among one’s own documents', () => {
  it('answers the same whether or not another’s document has all the words', async (t) => {
    const { documents } = await diaries(t)
    await createDocument(documents, boss, 'Diary', { title: 'Merger', content: 'we buy zebra limited' })
    await createDocument(documents, clerk, 'Diary', { title: 'Merger', content: 'a word that i put here' })
    const ask = async (words: string) => {
      const { results, total } = await searchDocuments(documents, clerk, {
        doctype: 'Diary',
        words,
        limit: 10,
      })
      return { total, found: results.map(({ name, score }) => ({ name, score })) }
    }
    const nobodyHasIt = await ask('merger giraffe')
    assert.equal(nobodyHasIt.total, 1)
    for (const guess of ['merger zebra', 'merger ze', 'merger limited'])
      assert.deepEqual(await ask(guess), nobodyHasIt, guess)
  })

  it('gives the same scores however many others hold a word', async (t) => {
    const { documents } = await diaries(t)
    await createDocument(documents, clerk, 'Diary', { title: 'Bonus', content: 'a guess' })
    const ask = () => searchDocuments(documents, clerk, { doctype: 'Diary', words: 'bonus', limit: 10 })
    const before = await ask()
    for (let n = 0; n < 5; n++)
      await createDocument(documents, boss, 'Diary', { title: 'Bonus', content: 'the truth' })
    assert.deepEqual(await ask(), before)
  })
})

describe('one question', () => {
  it('has at most so many conditions, patterns and orders', async (t) => {
    const { documents } = await openCompany(t)
    const many = (length: number, condition: unknown) => Array.from({ length }, () => condition)
    const list = (query: object) => listDocuments(documents, sales, { doctype: 'Customer', ...query })
    await assert.rejects(
      list({ filters: many(20_000, ['custommer_name', '=', 'x']) }),
      refuses(/at most 50 conditions/),
    )
    await assert.rejects(
      list({ filters: many(11, ['customer_name', 'not like', '%a%b']) }),
      refuses(/at most 10 conditions with like/),
    )
    await assert.rejects(list({ orderBy: many(100_000, 'owner').join() }), refuses(/at most 10 fields/))
    await assert.rejects(list({ fields: ['a'.repeat(1_000_000)] }), refuses(/unknown field "a{99}…"/))
    assert.ok(
      (await list({ filters: many(50, ['customer_name', '!=', 'x']), orderBy: 'owner, name' })).total > 0,
    )
  })

  it('is given up when its patterns are too much work for the texts that there are', async (t) => {
    const { documents } = await diaries(t)
    for (let n = 0; n < 20; n++)
      await createDocument(documents, clerk, 'Diary', { title: `n${n}`, content: 'a'.repeat(100_000) })
    const ask = (pattern: string, times: number) =>
      countDocuments(
        documents,
        clerk,
        'Diary',
        Array.from({ length: times }, () => ['content', 'not like', pattern]),
      )
    assert.equal(await ask('%aab%', 1), 20)
    assert.equal(await ask(`%${'a'.repeat(250)}_${'a'.repeat(200)}b%`, 1), 20)
    assert.equal(await ask(`%${'a'.repeat(250)}_${'a'.repeat(200)}%`, 1), 0)
    await assert.rejects(ask(`%${'a'.repeat(498)}b`, 10), refuses(/take too long/))
  })

  it('tells the first hundred faults of a document, and not a hundred thousand', async (t) => {
    const { documents } = await openCompany(t)
    const data = (length: number) =>
      Object.fromEntries(Array.from({ length }, (_, n) => [`custommer_name_${n}`, 1]))
    await assert.rejects(
      createDocument(documents, sales, 'Lead', data(100_000)),
      refuses(/custommer_name_99"; lead_name is required$/),
    )
    const rows = Array.from({ length: 1000 }, () => data(100))
    await assert.rejects(
      createDocument(documents, sales, 'Sales Order', { items: rows }),
      refuses(/items\[0\]: unknown field "custommer_name_0"/),
    )
  })
})

describe('a pattern on a long text', () => {
  it('means what it means on a short one', async (t) => {
    const { documents } = await diaries(t)
    const text = `begin ${'ab'.repeat(30_000)} middle ${'ba'.repeat(10_000)} end`
    await createDocument(documents, clerk, 'Diary', { title: 'long', content: text })
    const cases: readonly (readonly [string, boolean])[] = [
      ['begin%', true],
      ['egin%', false],
      ['%end', true],
      ['%en', false],
      ['BEGIN%middle%END', true],
      ['begin%end%middle', false],
      ['%mid_le%', true],
      ['%mid__le%', false],
      ['begin %% end', true],
      [`%${'ab'.repeat(200)} m%`, true],
      [`%${'ab'.repeat(200)}b m%`, false],
      [`%${'_b'.repeat(200)} middle b%`, true],
      ['%', true],
    ]
    for (const [pattern, holds] of cases)
      assert.equal(
        await countDocuments(documents, clerk, 'Diary', [['content', 'like', pattern]]),
        holds ? 1 : 0,
        pattern.slice(0, 40),
      )
  })
})
