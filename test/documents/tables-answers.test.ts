/**
 * Whatever is asked of documents that lie in a table of others, the database there and the plain evaluator answer the same:
 * decimals beyond a double, microseconds, time zones, nulls, case, collation, keys that are numbers or composed.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { Groups } from '#state/questions/groups.ts'
import { always, tester } from '#state/questions/conditions.ts'
import { order as sortingOf } from '#state/questions/expression-values.ts'
import { placeOf } from '#state/questions.ts'
import * as fc from '../helpers/random.ts'
import { inTurns } from '#leaf/slices.ts'
import type { Principal } from '../../src/core/principal.ts'
import { aggregateDocuments } from '../../src/documents/asking/aggregating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { conditionOf, readFilters, storedName } from '../../src/documents/asking/filters.ts'
import { listDocuments } from '../../src/documents/asking/reading.ts'
import { suggestLinks } from '../../src/documents/asking/searching.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { accessTo } from '../../src/documents/permission.ts'
import { readableTables } from '../../src/documents/reports/tables.ts'
import { SiteTables } from '../../src/documents/sources/site-tables.ts'
import type { StoredDocument } from '../../src/documents/writing/stored.ts'
import type { Fault } from '#site/site-files.ts'
import { readSources } from '../../src/settings/sources.ts'
import { createLog } from '#leaf/log.ts'
import { noMariadb, startMariadb } from '../helpers/mariadb.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import { doctypes, type DrawnDoctype, documentsOf, people, questionsOf, siteWith } from './drawn-doctypes.ts'
import { type Fill, mariadbTables, postgresTables } from './drawn-tables.ts'
import { allRows, openCompany } from './trading-company.ts'
import { answerOr } from '../helpers/answer-or.ts'

const cases = Number(process.env['TABLES_ANSWERS_CASES'] ?? 1_000)
// The same questions each time, unless another seed is given: a sum beyond fifteen digits, which is a double, differs by the
// order of its rows, and of groups that tie in it either may come first.
const firstSeed = Number(process.env['TABLES_ANSWERS_SEED'] ?? 1)
const perSite = 200
const rowCount = 60

interface Opened {
  readonly told: string
  readonly documents: Documents
  /** As the evaluator sees them, in the order of the key. */
  readonly stored: readonly StoredDocument[]
  readonly faults: string[]
}

describe('the documents of a table of others', { skip: noPostgres }, () => {
  const cleanups: (() => Promise<void>)[] = []
  let fill: Fill
  before(async () => {
    const server = await startPostgres({ after: (step) => void cleanups.push(step as () => Promise<void>) })
    await server.admin.query('CREATE ROLE reader LOGIN')
    fill = postgresTables(server)
  })
  after(async () => {
    for (const step of cleanups) await step()
  })

  it(`give the same answers to ${cases} questions as the evaluator does`, (t) => sameAnswers(t, fill))
})

describe('the documents of a table in a MariaDB of others', { skip: noMariadb }, () => {
  const cleanups: (() => Promise<void>)[] = []
  let fill: Fill
  before(async () => {
    fill = mariadbTables(
      await startMariadb({ after: (step) => void cleanups.push(step as () => Promise<void>) }),
    )
  })
  after(async () => {
    for (const step of cleanups) await step()
  })

  it(`give the same answers to ${cases} questions as the evaluator does`, (t) => sameAnswers(t, fill))
})

async function sameAnswers(t: TestContext, fill: Fill): Promise<void> {
  for (let done = 0, round = 0; done < cases; done += perSite, round++) {
    const seed = firstSeed + done
    const drawn = <T>(from: fc.Arbitrary<T>, numRuns: number): T[] => fc.sample(from, { numRuns, seed })
    const [doctype] = drawn(doctypes, 1) as [DrawnDoctype]
    const opened = await open(t, fill, doctype, drawn(documentsOf(doctype), rowCount), seed + round)
    assert.equal(opened.stored.length, rowCount)
    for (const [index, question] of drawn(questionsOf(doctype), perSite).entries()) {
      if (index % 3 === 0) await sameGroups(opened, question)
      else if (index % 3 === 1) await sameLists(opened, question)
      else await sameSuggestions(opened, question)
    }
    await sameRows(opened, [people[0], people[1]])
    assert.deepEqual(opened.faults, [], opened.told)
  }
}

async function open(
  t: TestContext,
  fill: Fill,
  doctype: DrawnDoctype,
  values: readonly Record<string, unknown>[],
  seed: number,
): Promise<Opened> {
  const { source, key, parent, types } = await fill(doctype, values, seed)
  const files = siteWith(doctype, {
    thing: {
      from: {
        source: 'erp',
        table: 'thing',
        key,
        standard: {
          owner: { column: 'mail', through: { column: 'of', table: 'person' } },
          creation: 'made',
          modified: 'changed',
          modified_by: 'by',
          docstatus: 'state',
        },
      },
    },
    field: ({ type }) => ({
      ...(type === 'table' && { rows: { table: 'lines', parent, key: ['nr'] } }),
      ...(type === 'currency' && { precision: 4 }),
    }),
    files: { 'config/sources.yaml': JSON.stringify({ sources: { erp: source } }) },
  })
  const { documents: own } = await openCompany(t, { files, seeds: false })
  const faults: string[] = []
  const log = createLog('warn', { write: (text: string) => faults.push(text) })
  const siteTables = new SiteTables({
    log,
    clock: own.clock,
    serves: false,
    secretOf: () => Promise.resolve(''),
  })
  t.after(() => siteTables.close())
  const definitions = { files, platform: own.platform, sources: readSources(files, []) }
  const wrong: Fault[] = []
  await siteTables.check(definitions, wrong, [])
  assert.deepEqual(wrong, [])
  const documents = { ...own, tables: await siteTables.open(definitions) }
  const thing = own.platform.doctypes.get('Thing')!
  const told = JSON.stringify({ doctype, types: [...types], key, source })
  return { told, documents, faults, stored: await collectionFor(documents, thing).find() }
}

type Question = ReturnType<typeof questionsOf> extends fc.Arbitrary<infer T> ? T : never

/** What one gets who looks at every document; undefined where the question is refused. */
function found({ documents, stored }: Opened, who: Principal, filters: unknown): readonly StoredDocument[] {
  const access = accessTo(who, documents.platform.doctypes.get('Thing')!, documents.clock.now())
  const read = readFilters(access, filters)
  const passes = tester(read.length === 0 ? always : conditionOf(read))
  return stored.filter((one) => access.allows('read', one) && passes(one))
}

async function sameLists(opened: Opened, question: Question): Promise<void> {
  const { documents, stored } = opened
  const { who, filters, orderBy, limit, offset } = question
  const told = `${opened.told} ${JSON.stringify({ who: who.user, filters, orderBy, limit, offset })}`
  const query = { doctype: 'Thing', filters, orderBy, limit, fields: ['name'] }
  const page = await answerOr(() => listDocuments(documents, who, { ...query, offset }))
  if ('refused' in page) return assert.match(page.refused, /^(?:invalid|not_found|forbidden): /, told)
  const all = found(opened, who, filters)
  const sortKeys = orderBy.split(', ').map((key) => key.split(' ') as [string, string])
  const at = (document: StoredDocument, name: string): unknown => {
    if (name === 'name') return stored.indexOf(document)
    const [value] = placeOf([{ field: name }], document)
    if (typeof value !== 'string') return value
    if (value === 'infinity') return 'x'
    if (value === 'NaN') return Infinity
    if (/^\d{16,}$/.test(value)) return Number(value)
    return value.replace(/(\.\d{3})Z$/, '$1000Z')
  }
  const sorted = [...all].sort((a, b) => {
    for (const [name, direction] of sortKeys) {
      const result = sortingOf(at(a, name), at(b, name))
      if (result !== 0) return direction === 'desc' ? -result : result
    }
    return stored.indexOf(a) - stored.indexOf(b)
  })
  const names = (some: readonly { readonly id: string }[]): string[] => some.map(({ id }) => id)
  assert.deepEqual(
    page.data.map(({ name }) => name),
    names(sorted.slice(offset, offset + limit)),
    told,
  )
  assert.equal(page.total, all.length, told)
  // Page by page, nothing is left out and nothing comes twice.
  const walked: unknown[] = []
  let { more, cursorAfter, data } = await listDocuments(documents, who, query)
  walked.push(...data.map(({ name }) => name))
  while (more) {
    const next = await listDocuments(documents, who, { ...query, cursor: cursorAfter(data.length) })
    walked.push(...next.data.map(({ name }) => name))
    ;({ more, cursorAfter, data } = next)
  }
  assert.deepEqual(walked, names(sorted), told)
}

async function sameGroups(opened: Opened, question: Question): Promise<void> {
  const { documents } = opened
  const { who, filters } = question
  const { by, direction, ...grouped } = question.grouped
  const names = [
    ...grouped.groupBy.map((key) => key.replace(':', '_')),
    ...grouped.metrics.map(({ as }) => as),
  ]
  const orderBy = direction === '' ? `${names.at(-1)!} desc` : `${names[by % names.length]!}${direction}`
  const query = { doctype: 'Thing', filters, ...grouped, orderBy }
  const told = `${opened.told} ${JSON.stringify({ who: who.user, query })}`
  const page = await answerOr(() => aggregateDocuments(documents, who, query))
  if ('refused' in page) return assert.match(page.refused, /^(?:invalid|not_found|forbidden): /, told)
  const all = found(opened, who, filters)
  const access = accessTo(who, documents.platform.doctypes.get('Thing')!, documents.clock.now())
  const asked = {
    keys: grouped.groupBy.map((key) => {
      const [name, part] = key.split(':') as [string, 'day' | undefined]
      return { field: storedName(name), part }
    }),
    measures: grouped.metrics.map(({ function: of, ...more }) => {
      const name = (more as { field?: string }).field
      const field = name === undefined ? undefined : access.doctype.fields.get(name)
      const places = field?.type === 'currency' ? field.precision : undefined
      return {
        of,
        ...(name !== undefined && { field: storedName(name) }),
        ...(places !== undefined && of !== 'count' && { places }),
      }
    }),
    order: [{ column: names.indexOf(orderBy.split(' ')[0]!), descending: orderBy.endsWith('desc') }],
    offset: grouped.offset,
    limit: grouped.limit,
  }
  const groups = new Groups(asked)
  for (const one of all) groups.add(one)
  const expected = await inTurns(groups.answer(), undefined)
  // A tick shows as it does in lists.
  const isTick = [...asked.keys, ...asked.measures].map(
    (one) =>
      (!('of' in one) || one.of === 'min' || one.of === 'max') &&
      one.field !== undefined &&
      access.doctype.fields.get(one.field)?.type === 'check',
  )
  const shown = expected.rows.map((row) =>
    row.map((value, at) => (isTick[at] && value !== null ? value === 1 : value)),
  )
  assert.deepEqual(
    JSON.parse(JSON.stringify(page.rows.map((row) => Object.values(row)))),
    JSON.parse(JSON.stringify(shown)),
    told,
  )
  assert.equal(page.documents, all.length, told)
  assert.equal(await countDocuments(documents, who, 'Thing', filters), all.length, told)
}

async function sameSuggestions(opened: Opened, { who, typed, filters }: Question): Promise<void> {
  const told = `${opened.told} ${JSON.stringify({ who: who.user, typed, filters })}`
  const query = { doctype: 'Thing', typed, filters, limit: 100 }
  const answer = await answerOr(() => suggestLinks(opened.documents, who, query))
  if ('refused' in answer) return assert.match(answer.refused, /^(?:invalid|not_found|forbidden): /, told)
  const access = accessTo(who, opened.documents.platform.doctypes.get('Thing')!, opened.documents.clock.now())
  const title = access.doctype.titleField!
  const titled = access.queryable(access.doctype.fields.get(title)!)
  const part = typed.replace(/^["'%*\s]+|["'%*\s]+$/g, '').toLowerCase()
  const expected = found(opened, who, filters).filter((one) =>
    [one.id, titled ? one[title] : null].some(
      (text) => typeof text === 'string' && text.toLowerCase().includes(part),
    ),
  )
  assert.deepEqual(
    new Set(answer.suggestions.map(({ value }) => value)),
    new Set(expected.map(({ id }) => id)),
    told,
  )
  assert.equal(answer.total, expected.length, told)
}

/** What statements and programs see is what one may read. */
async function sameRows(opened: Opened, who: readonly string[]): Promise<void> {
  for (const user of who) {
    const roles = new Set(['Clerk', 'Assistant User'])
    const principal = { user, fullName: user, roles, roleKey: 'Clerk', scopes: [], requestId: '' }
    const table = readableTables(opened.documents, principal).tables.find(({ name }) => name === 'Thing')
    const rows = table ? await allRows(table) : []
    const expected = found(opened, principal, undefined).map(({ id }) => id)
    assert.deepEqual(new Set(rows.map(([name]) => name)), new Set(expected), opened.told)
    assert.equal(rows.length, expected.length, opened.told)
  }
}
