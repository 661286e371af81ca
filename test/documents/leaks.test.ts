/**
 * Random doctypes, rules, rows and people: whatever path a caller takes, it learns no row and no
 * value that the evaluator denies it. Every hidden value and every hidden name is a word that
 * stands nowhere else, so one search of everything that was said finds a leak.
 */
import { readableTables } from '../../src/documents/reports/tables.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/asking/searching.ts'
import { runReport } from '../../src/documents/reports/reports.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { historyOf } from '../../src/documents/history.ts'
import { describeDoctype } from '../../src/documents/describing.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../src/core/principal.ts'
import { collectionFor } from '../../src/documents/documents.ts'
import { accessTo } from '../../src/documents/permission.ts'
import type { StoredDocument } from '../../src/documents/writing/stored.ts'
import { allRows, type Company, openCompany, siteOf, someone } from './trading-company.ts'

const clerk = someone('clerk@example.com', 'Clerk')
const boss = someone('boss@example.com', 'Boss')
const both = someone('both@example.com', 'Clerk', 'Boss')
const guest = someone('guest@example.com', 'Guest')
const people = [clerk, boss, both, guest]

interface FieldPlan {
  readonly type: 'text' | 'number' | 'select' | 'date'
  readonly level: number
  readonly visibleTo: string | null
}

interface RulePlan {
  readonly role: string
  readonly actions: readonly string[]
  readonly ifOwner: boolean
  readonly when: string | null
  readonly levels: readonly number[]
}

const fieldPlan: fc.Arbitrary<FieldPlan> = fc.record({
  type: fc.constantFrom('text', 'number', 'select', 'date'),
  level: fc.constantFrom(0, 0, 1, 2),
  visibleTo: fc.constantFrom(null, null, 'Boss', 'Clerk'),
})

const rulePlan: fc.Arbitrary<RulePlan> = fc.record({
  role: fc.constantFrom('Clerk', 'Boss'),
  actions: fc.subarray(['read', 'write', 'create', 'report'], { minLength: 1 }),
  ifOwner: fc.boolean(),
  when: fc.constantFrom(null, null, 'doc.shade = "light"', 'doc.shade = "dark" or doc.owner = user.id'),
  levels: fc.subarray([0, 1, 2], { minLength: 1 }),
})

const plan = fc.record({
  fields: fc.array(fieldPlan, { minLength: 1, maxLength: 4 }),
  rules: fc.array(rulePlan, { minLength: 1, maxLength: 5 }),
  rows: fc.array(
    fc.record({
      owner: fc.constantFrom(...people.map(({ user }) => user)),
      shade: fc.constantFrom('light', 'dark'),
    }),
    { minLength: 1, maxLength: 6 },
  ),
})

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

describe('no path tells what the evaluator denies', () => {
  it('for random doctypes, rules, rows and people', async (t) => {
    let denied = 0
    await fc.assert(
      fc.asyncProperty(plan, async (made) => {
        const company = await companyOf(t, made)
        for (const who of people) denied += await checkPerson(company, made, who)
      }),
      { numRuns: 60, includeErrorInReport: true },
    )
    assert.ok(denied > 0, `the rules denied something: ${denied}`)
  })
})

async function companyOf(
  t: Parameters<typeof openCompany>[0],
  { fields, rules, rows }: Plan,
): Promise<Company> {
  const doctype = {
    doctype: 'Thing',
    naming: { rule: 'prompt' },
    title_field: 'f0',
    search_fields: ['f0'],
    fields: [
      { fieldname: 'shade', type: 'select', options: ['light', 'dark'] },
      ...fields.map(({ type, level, visibleTo }, index) => ({
        fieldname: `f${index}`,
        type,
        level,
        ...(type === 'select' && { options: rows.map((_, row) => word(index, row)) }),
        ...(visibleTo !== null && { visible_to: [visibleTo] }),
      })),
    ],
    permissions: rules.map(({ role, actions, ifOwner, when, levels }) => ({
      role,
      actions,
      if_owner: ifOwner,
      ...(when !== null && { when }),
      levels,
    })),
  }
  const pointer = {
    doctype: 'Pointer',
    fields: [{ fieldname: 'thing', type: 'link', doctype: 'Thing' }],
    permissions: people.map(({ roles }) => ({ role: [...roles][0], actions: ['read', 'create'] })),
  }
  const report = {
    report: 'Everything',
    type: 'declarative',
    doctype: 'Thing',
    columns: [{ name: 'name' }, { name: 'f0' }],
  }
  const grouped = {
    report: 'Grouped',
    type: 'declarative',
    doctype: 'Thing',
    group_by: ['f0'],
    columns: [{ name: 'f0' }, { name: 'n', aggregate: 'count' }],
  }
  const files = siteOf({
    'config/doctypes/thing.yaml': JSON.stringify(doctype),
    'config/doctypes/pointer.yaml': JSON.stringify(pointer),
    'config/reports/everything.yaml': JSON.stringify(report),
    'config/reports/grouped.yaml': JSON.stringify(grouped),
  })
  const company = await openCompany(t, { files })
  const things = collectionFor(company.documents, company.platform.doctypes.get('Thing')!)
  for (const [row, { owner, shade }] of rows.entries())
    await things.insert({
      id: `name${row}q`,
      owner,
      creation: `2026-01-0${row + 1}T00:00:00.000Z`,
      modified: `2026-01-0${row + 1}T00:00:00.000Z`,
      modified_by: owner,
      docstatus: 0,
      shade,
      ...Object.fromEntries(fields.map(({ type }, index) => [`f${index}`, valueOf(type, index, row)])),
    })
  return company
}

/** A text of one field of one row that stands nowhere else. */
function word(field: number, row: number): string {
  return `zx${field}y${row}w`
}

function valueOf(type: FieldPlan['type'], field: number, row: number): unknown {
  // No average or sum of some is another one, of whatever field, nor has its digits: the steps are prime to each other.
  if (type === 'number') return 700_000_000 + field * 1_000_003 + 10_007 * 3 ** row
  if (type === 'date') return `19${60 + field}-07-1${row}`
  return word(field, row)
}

/** Takes every path as one person; answers how many names and values were denied. */
async function checkPerson(
  { documents, platform }: Company,
  { fields, rows }: Plan,
  who: Principal,
): Promise<number> {
  const doctype = platform.doctypes.get('Thing')!
  const access = accessTo(who, doctype, documents.clock.now())
  const all = await collectionFor(documents, doctype).find()
  const visible = all.filter((document) => access.allows('read', document))
  const secrets = new Set<string>()
  for (const document of all) {
    const row = Number(/\d+/.exec(document.id)![0])
    if (!visible.includes(document)) secrets.add(document.id)
    for (const [index, { type }] of fields.entries()) {
      const shown =
        visible.includes(document) && access.shows(doctype.fields.get(`f${index}`)!, document) === 'clear'
      // The options of a select are no secret where the field itself is known.
      if (!shown && !(type === 'select' && access.knows(doctype.fields.get(`f${index}`)!)))
        secrets.add(String(valueOf(type, index, row)))
    }
  }
  const said: string[] = []
  const say = async (path: string, run: () => unknown): Promise<unknown> => {
    try {
      const answer = await run()
      said.push(`${path}: ${JSON.stringify(answer)}`)
      return answer
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      said.push(`${path}: ${error.message} ${JSON.stringify(error.data)}`)
      return undefined
    }
  }
  const names = ['name', 'shade', 'owner', ...fields.map((_, index) => `f${index}`)]
  await say('info', () => describeDoctype(documents, who, 'Thing'))
  const page = (await say('list', () =>
    listDocuments(documents, who, { doctype: 'Thing', fields: ['*'], limit: 100 }),
  )) as { total: number; data: { name: string }[] } | undefined
  if (page) {
    assert.equal(page.total, visible.length)
    assert.deepEqual(new Set(page.data.map(({ name }) => name)), new Set(visible.map(({ id }) => id)))
  } else assert.equal(visible.length, 0)
  for (const document of all) {
    const answer = await say(`get ${visible.includes(document)}`, async () => {
      try {
        return await getDocument(documents, who, 'Thing', document.id)
      } catch (error) {
        throw error instanceof AppError
          ? new AppError(error.code, error.message.replaceAll(document.id, 'NAME'))
          : error
      }
    })
    assert.equal(answer !== undefined, visible.includes(document))
  }
  for (const field of names) {
    await say('order', () =>
      listDocuments(documents, who, { doctype: 'Thing', orderBy: `${field} desc`, fields: ['name'] }),
    )
    await say('group', () => aggregateDocuments(documents, who, { doctype: 'Thing', groupBy: [field] }))
    for (const kind of ['min', 'max', 'sum', 'avg', 'count'] as const)
      await say('aggregate', () =>
        aggregateDocuments(documents, who, { doctype: 'Thing', metrics: [{ function: kind, field }] }),
      )
    if (field.startsWith('f')) await probe(field)
  }
  for (const row of rows.keys())
    for (const index of fields.keys()) {
      const words = String(valueOf(fields[index]!.type, index, row))
      await checkSearch(words, row, index)
    }
  await say('suggest', () => suggestLinks(documents, who, { doctype: 'Thing', typed: '', limit: 50 }))
  await say('report', () =>
    runReport(documents, who, 'Everything', {}, { signal: new AbortController().signal, wait: 1 }),
  )
  await say('grouped', () =>
    runReport(documents, who, 'Grouped', {}, { signal: new AbortController().signal, wait: 1 }),
  )
  await say('tables', async () => Promise.all(readableTables(documents, who).tables.map(allRows)))
  await say('history', () => historyOf(documents, who, 'Thing', visible[0]?.id ?? 'none', 10))
  const everything = said.join('\n')
  for (const secret of secrets)
    assert.ok(
      !everything.includes(secret),
      `${who.user} learned ${secret} from\n${said.find((line) => line.includes(secret))}`,
    )
  await checkLinks()
  return secrets.size

  /** A filter must not answer whether a value that is denied stands in a row: it counts what may be seen, or refuses. */
  async function probe(field: string): Promise<void> {
    const definition = doctype.fields.get(field)!
    for (const row of rows.keys()) {
      const value = valueOf(definition.type as FieldPlan['type'], Number(field.slice(1)), row)
      let count: number | undefined
      try {
        count = await countDocuments(documents, who, 'Thing', { [field]: value })
      } catch (error) {
        if (!(error instanceof AppError)) throw error
      }
      if (count === undefined) continue
      const clear = visible.filter(
        (document) => access.shows(definition, document) === 'clear' && document[field] === value,
      )
      assert.equal(count, clear.length)
    }
  }

  async function checkSearch(words: string, row: number, index: number): Promise<void> {
    let total: number | undefined
    try {
      const found = await searchDocuments(documents, who, { words, doctype: 'Thing', limit: 50 })
      total = found.results.filter(({ name }) => name === `name${row}q`).length
      said.push(
        `search: ${JSON.stringify(found.results.map(({ name, title }) => [name, title === words ? 'the words' : title]))}`,
      )
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
    if (total === undefined || total === 0) return
    const document = visible.find(({ id }) => id === `name${row}q`) as StoredDocument
    assert.ok(document, 'only rows that may be read are found')
    assert.equal(
      access.shows(doctype.fields.get(`f${index}`)!, document),
      'clear',
      'and only by words that may be read',
    )
  }

  /** Linking to a row that is denied fails exactly like linking to one that is not there. */
  async function checkLinks(): Promise<void> {
    const attempt = async (thing: string): Promise<string> => {
      try {
        await createDocument(documents, who, 'Pointer', { thing }, { dryRun: true })
        return 'made'
      } catch (error) {
        return (error as Error).message.replaceAll(thing, 'NAME')
      }
    }
    const missing = await attempt('name99q')
    for (const document of all) {
      const answer = await attempt(document.id)
      if (visible.includes(document)) assert.equal(answer, 'made')
      else assert.equal(answer, missing)
    }
  }
}
