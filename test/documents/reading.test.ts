/** What reading shows of a document, field by field: as it is, as a marker, or not at all; in lists, whole, and in rows. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../src/core/principal.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { openCompany, siteOf, someone } from './trading-company.ts'

const boss = someone('boss@example.com', 'Boss')
const guest = someone('guest@example.com', 'Guest')
const clerk = someone('clerk@example.com', 'Clerk')
const fields = `
  - {fieldname: note, type: text}
  - {fieldname: pay, type: currency, visible_to: [Boss]}
  - {fieldname: inner, type: text, level: 1}`
const thing = `
doctype: Thing
naming: {rule: series, series: "T-####"}
title_field: note
fields: ${fields}
  - {fieldname: parts, type: table, doctype: Part}
permissions:
  - {role: Boss, actions: [read, write, create, report], levels: [0, 1]}
  - {role: Clerk, actions: [read, report]}`
const paid = `
doctype: Paid
naming: {rule: prompt}
title_field: pay
fields:
  - {fieldname: pay, type: currency, visible_to: [Boss]}
permissions:
  - {role: Boss, actions: [read, write, create]}
  - {role: Clerk, actions: [read]}
  - {role: Guest, actions: [create]}`
const part = `
doctype: Part
child: true
fields: ${fields}`

async function open(t: TestContext, count = 1): Promise<Documents> {
  const files = siteOf({
    'config/doctypes/thing.yaml': thing,
    'config/doctypes/part.yaml': part,
    'config/doctypes/paid.yaml': paid,
  })
  const { documents } = await openCompany(t, { files, seeds: false })
  const values = { note: 'plain', pay: 7, inner: 'secret' }
  for (let made = 0; made < count; made++)
    await createDocument(documents, boss, 'Thing', { ...values, parts: [values, { note: 'bare' }] })
  return documents
}

describe('reading a document', () => {
  const whole: readonly {
    readonly says: string
    readonly who: Principal
    readonly fields?: readonly string[]
    readonly shown: Readonly<Record<string, unknown>>
  }[] = [
    {
      says: 'shows everything to whom all levels and masked fields are open, in rows too',
      who: boss,
      shown: {
        note: 'plain',
        pay: 7,
        inner: 'secret',
        parts: [
          { idx: 1, note: 'plain', pay: 7, inner: 'secret' },
          { idx: 2, note: 'bare' },
        ],
      },
    },
    {
      says: 'shows a marker for masked values and nothing of another level, in rows too, with a value or without',
      who: clerk,
      shown: {
        note: 'plain',
        pay: '[masked]',
        parts: [
          { idx: 1, note: 'plain', pay: '[masked]' },
          { idx: 2, note: 'bare', pay: '[masked]' },
        ],
      },
    },
    {
      says: 'shows of the fields those that are wanted',
      who: clerk,
      fields: ['pay'],
      shown: { pay: '[masked]' },
    },
    {
      says: 'shows rows where they are wanted',
      who: clerk,
      fields: ['parts'],
      shown: {
        parts: [
          { idx: 1, note: 'plain', pay: '[masked]' },
          { idx: 2, note: 'bare', pay: '[masked]' },
        ],
      },
    },
  ]
  for (const { says, who, fields: wanted, shown } of whole)
    it(says, async (t) => {
      const documents = await open(t)
      const { name, owner, creation, modified, modified_by, docstatus, ...view } = await getDocument(
        documents,
        who,
        'Thing',
        'T-0001',
        wanted && { fields: wanted },
      )
      assert.equal(name, 'T-0001')
      assert.deepEqual([owner, docstatus].includes(undefined), wanted !== undefined)
      assert.equal(creation === undefined, wanted !== undefined)
      assert.deepEqual([modified, modified_by].includes(undefined), wanted !== undefined)
      const rows = view['parts'] as readonly Record<string, unknown>[] | undefined
      const plain = rows?.map((row) =>
        Object.fromEntries(Object.entries(row).filter(([key]) => key !== 'name')),
      )
      assert.deepEqual({ ...view, ...(plain && { parts: plain }) }, shown)
    })
})

/** A cursor of the order that lists have unless told. */
function cursorWith(after: readonly unknown[]): string {
  const order = [{ field: 'creation', descending: true }]
  return Buffer.from(JSON.stringify([order, ...after])).toString('base64url')
}

describe('a list of documents', () => {
  const rows: readonly {
    readonly says: string
    readonly who: Principal
    readonly query: Readonly<Record<string, unknown>>
    readonly shows?: Readonly<Record<string, unknown>>
    readonly refuses?: readonly ['invalid' | 'forbidden', RegExp]
  }[] = [
    { says: 'has name, title and times', who: clerk, query: {}, shows: { name: 'T-0001', note: 'plain' } },
    {
      says: 'shows a marker for a masked field',
      who: clerk,
      query: { fields: ['pay'] },
      shows: { name: 'T-0001', pay: '[masked]' },
    },
    {
      says: 'refuses a masked field where it must not show markers, as for reports',
      who: clerk,
      query: { fields: ['note', 'pay'], clearOnly: true },
      refuses: ['forbidden', /your roles do not open this: .*pay is masked/],
    },
    {
      says: 'shows it there to whom it is open',
      who: boss,
      query: { fields: ['note', 'pay'], clearOnly: true },
      shows: { name: 'T-0001', note: 'plain', pay: 7 },
    },
    {
      says: 'knows no field of another level',
      who: clerk,
      query: { fields: ['inner'] },
      refuses: ['invalid', /fields: .*inner/],
    },
    {
      says: 'has no rows',
      who: boss,
      query: { fields: ['parts'] },
      refuses: ['invalid', /parts holds rows; get_document shows them/],
    },
    {
      says: 'is not ordered by a masked field',
      who: clerk,
      query: { orderBy: 'pay' },
      refuses: ['invalid', /pay is masked/],
    },
    {
      says: 'goes on after no cursor that another order gave',
      who: clerk,
      query: { cursor: Buffer.from('[[],"T-0001"]').toString('base64url') },
      refuses: ['invalid', /cursor: not one that this list gave/],
    },
    ...[[], ['2026-01-02T03:04:05.000Z'], ['2026-01-02T03:04:05.000Z', 1], [1, 2, 'T-0001']].map((after) => ({
      says: `goes on after no cursor that is no place in its order, such as ${JSON.stringify(after)}`,
      who: clerk,
      query: { cursor: cursorWith(after) },
      refuses: ['invalid', /cursor: not one that this list gave/] as const,
    })),
    {
      says: 'begins at its first document when the offset is negative',
      who: clerk,
      query: { offset: -1 },
      shows: { name: 'T-0001', note: 'plain' },
    },
    {
      says: 'has no title where that is masked',
      who: clerk,
      query: { doctype: 'Paid', clearOnly: true },
      shows: { name: 'P-1' },
    },
    {
      says: 'has it where it is not',
      who: boss,
      query: { doctype: 'Paid', clearOnly: true },
      shows: { name: 'P-1', pay: 7 },
    },
    {
      says: 'is refused to whoever may create and not read',
      who: guest,
      query: { doctype: 'Paid' },
      refuses: ['forbidden', /your roles do not allow you to read Paid documents/],
    },
  ]
  for (const { says, who, query, shows, refuses } of rows)
    it(says, async (t) => {
      const documents = await open(t)
      if (query['doctype'] === 'Paid') await createDocument(documents, boss, 'Paid', { name: 'P-1', pay: 7 })
      const listed = listDocuments(documents, who, { doctype: 'Thing', ...query })
      if (refuses) {
        const [code, why] = refuses
        await assert.rejects(
          listed,
          (error) => error instanceof AppError && error.code === code && why.test(error.message),
        )
        return
      }
      const { data, offset } = await listed
      const { creation: _, modified: __, ...view } = data[0]!
      assert.equal(offset, 0)
      assert.deepEqual(view, shows)
    })

  it('has 20 documents unless told, 1,000 at most, more only for reports that have a limit of their own, and one at least', async (t) => {
    const documents = await open(t, 1005)
    const length = async (query: object): Promise<readonly [number, boolean]> => {
      const { data, more } = await listDocuments(documents, clerk, { doctype: 'Thing', ...query })
      return [data.length, more]
    }
    assert.deepEqual(
      await Promise.all(
        [{}, { limit: 5000 }, { limit: 5000, most: 1004 }, { limit: 5000, most: 2000 }, { limit: -3 }].map(
          length,
        ),
      ),
      [
        [20, true],
        [1000, true],
        [1004, true],
        [1005, false],
        [1, true],
      ],
    )
  })
})
