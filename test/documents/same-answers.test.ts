/**
 * Whatever is asked, the embedded store, PostgreSQL, the plain evaluator and statements in SQL answer the same: the evaluator is the oracle,
 * which looks at every document by itself.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import * as fc from '../helpers/random.ts'
import { permittedTables } from '../../src/analysis/permitted.ts'
import { Sql } from '../../src/analysis/sql/sql.ts'
import { always, type Condition, tester } from '../../src/core/conditions.ts'
import { AppError } from '../../src/core/errors.ts'
import { order as sortingOf } from '../../src/core/expression-values.ts'
import type { Principal } from '../../src/core/principal.ts'
import { aggregateDocuments, countDocuments } from '../../src/documents/aggregating.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { conditionOf, readFilters } from '../../src/documents/filters.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { accessTo } from '../../src/documents/permission.ts'
import { listDocuments } from '../../src/documents/reading.ts'
import type { StoredDocument } from '../../src/documents/stored.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/searching.ts'
import { readableTables } from '../../src/documents/tables.ts'
import { openPostgresStore } from '../../src/store/postgres.ts'
import { noPostgres, startPostgres, type TestPostgres } from '../helpers/postgres.ts'
import { isolation, settings, withoutSql } from '../analysis/machine.ts'
import { allRows, openCompany, silent, siteOf, someone } from './trading-company.ts'

const cases = Number(process.env['SAME_ANSWERS_CASES'] ?? 20_000)
const perSite = 1000

const texts = [
  '',
  'a',
  'A',
  'ab',
  'Ab',
  'b',
  'ä',
  'Ä',
  'ß',
  'SS',
  'é',
  'e\u0301',
  'İ',
  'ς',
  '\uffee',
  '🦊',
  '\u{10ffff}',
  '5',
  'true',
  '%',
  '10',
]
const phrases = [
  'zwei worte',
  'Apfel-Orange (10)',
  'STRASSE straße',
  'Orangen, Zweige',
  'ab ab_b',
  'apfel; zweig',
  'x1 x10',
]
const dates = ['2025-12-31', '2026-01-01', '2026-01-31', '2026-02-28', '2026-07-01']
const numbers = [-1.5, -1, 0, 0.1, 0.30000000000000004, 1, 2, 5, 1660087.55, 1e15]
const anyOf = <T>(values: readonly T[]) => fc.constantFrom(...values)
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: null })

const fields = {
  title: maybe(anyOf(texts)),
  note: maybe(
    fc.oneof(
      anyOf(phrases),
      anyOf(texts),
      fc.string({ maxLength: 6, unit: 'binary' }).map((text) => text.replaceAll('\0', '0')),
    ),
  ),
  amount: maybe(anyOf(numbers)),
  count: maybe(fc.integer({ min: -3, max: 3 })),
  open: maybe(fc.oneof(anyOf([0, 1]), fc.boolean())),
  day: maybe(anyOf(dates)),
  ratio: maybe(anyOf(numbers)),
}
const people = ['ann@example.com', 'bob@example.com']

/** A field may be missing, null, or of a kind from before its type was changed. */
const document = fc.record(
  {
    ...fields,
    tags: fc.oneof(fc.array(anyOf([...people, 3, null]), { maxLength: 2 }), anyOf(people)),
    owner: anyOf(people),
    items: fc.array(
      fc.record({ item: maybe(anyOf(texts)), price: maybe(anyOf(numbers)) }, { requiredKeys: [] }),
      { maxLength: 2 },
    ),
    day: fc.oneof({ weight: 9, arbitrary: fields.day }, { weight: 1, arbitrary: anyOf([3, true]) }),
  },
  { requiredKeys: ['owner'] },
)

const rules = [
  '',
  'if_owner: true',
  `when: 'doc.open = 1'`,
  `when: 'doc.owner = user.id'`,
  `when: 'doc.amount > 1 and doc.count <= 2'`,
  `when: 'doc.title in ["a", "ä", "🦊"] or doc.day >= "2026-01-01"'`,
  `when: 'not (doc.title = "a") and doc.open'`,
  `when: 'doc.note != null'`,
  `when: 'doc.day < today()'`,
  `when: 'lower(doc.title) = "ab"'`,
  `when: 'doc.amount * 2 > doc.count'`,
  `when: 'has_role("Boss") or doc.count = 0'`,
  `when: 'doc.count in [0, 1, null]'`,
  `when: 'has_role(doc.title)'`,
  `when: '"a" in doc.title or user.id in doc.tags'`,
  `when: 'has_role(doc.items.item)'`,
  `when: '"a" in doc.items.item'`,
  `when: 'starts_with(doc.note, "a") or contains(doc.title, "Ä")'`,
  `when: 'doc.items.item = null and count(doc.items.item) = 0'`,
  `if_owner: true, when: 'starts_with(doc.title, "a") or doc.open'`,
  `when: 'doc.open'`,
  `when: 'upper(doc.title) = "SS" or ends_with(doc.note, "b")'`,
  `when: 'doc.amount / doc.count >= 1 or doc.amount - doc.count < 0'`,
  `when: 'doc.title + doc.note != "ab" and doc.title <= doc.note'`,
  `when: 'year(doc.day) = 2026 and month(doc.day) in [1, 2]'`,
  `when: 'days_between(doc.day, "2026-02-01") > 0 or add_days(doc.day, doc.count) = "2026-02-01"'`,
  `when: 'coalesce(doc.note, doc.title, "a") = "a" or doc.title = doc.note'`,
  `when: 'if(doc.open, doc.amount > 0, doc.count > 0)'`,
  `when: 'len(doc.title) > 1 and floor(doc.amount) = doc.count or abs(doc.amount) = 1.5'`,
  `when: 'count(doc.tags) = 1 or sum(doc.items.price) > 0.3'`,
  `when: 'lower(doc.title) in [lower(doc.note), "ss"] or doc.open = (doc.count > 0)'`,
  `when: 'doc.amount % 2 = 1 or round(doc.amount) = 2'`,
]

const value = fc.oneof(anyOf(texts), anyOf(numbers), anyOf(dates), fc.boolean(), fc.constant(null))
const filter = fc.oneof(
  fc.tuple(
    anyOf([...Object.keys(fields), 'name', 'owner', 'docstatus']),
    anyOf(['=', '!=', '<', '<=', '>', '>=']),
    value,
  ),
  fc.tuple(anyOf(Object.keys(fields)), anyOf(['in', 'not in']), fc.array(value, { maxLength: 4 })),
  fc.tuple(
    anyOf(['title', 'note', 'name']),
    anyOf(['like', 'not like']),
    anyOf(['a', '%b', 'Ä%', '%', 'ss', '_b', '%5%', 'ß', '']),
  ),
  fc.tuple(anyOf(Object.keys(fields)), fc.constant('is'), anyOf(['set', 'not set'])),
  fc.tuple(anyOf(['amount', 'day', 'count']), fc.constant('between'), fc.tuple(value, value)),
)
const summed = ['amount', 'count', 'ratio']
const grouped = fc.record({
  groupBy: fc.uniqueArray(
    anyOf([
      'title',
      'note',
      'amount',
      'count',
      'open',
      'owner',
      'name',
      'day',
      'day:year',
      'day:quarter',
      'day:month',
      'day:week',
      'day:day',
    ]),
    { maxLength: 2 },
  ),
  metrics: fc
    .uniqueArray(
      fc.oneof(
        fc.constant(['count'] as const),
        fc.tuple(anyOf(['sum', 'avg'] as const), anyOf(summed)),
        fc.tuple(anyOf(['count', 'min', 'max'] as const), anyOf([...Object.keys(fields), 'name'])),
      ),
      { minLength: 1, maxLength: 3, selector: (one) => one.join() },
    )
    .map((all) =>
      all.map(([kind, field], index) => ({
        function: kind,
        as: `m${index}`,
        ...(field !== undefined && { field }),
      })),
    ),
  by: fc.nat(),
  direction: anyOf(['', ' asc', ' desc']),
  limit: fc.integer({ min: 1, max: 30 }),
  offset: anyOf([0, 0, 3, 100]),
})

const query = fc.record({
  filters: fc.array(filter, { maxLength: 3 }),
  orderBy: fc
    .uniqueArray(
      fc.tuple(anyOf([...Object.keys(fields), 'name', 'creation', 'owner']), anyOf(['asc', 'desc'])),
      {
        maxLength: 3,
        minLength: 1,
        selector: ([field]) => field,
      },
    )
    .map((keys) => keys.map((key) => key.join(' ')).join(', ')),
  limit: fc.integer({ min: 1, max: 30 }),
  offset: anyOf([0, 0, 0, 3, 20]),
  grouped,
  words: anyOf([
    'a',
    'ab',
    'Ä',
    'ss',
    'straße 10',
    'zwei worte',
    'orangen',
    'apfel orange',
    'oragnen',
    'apfle zweig',
    'T 5',
    'x1',
    '🦊',
    'ab b 10',
  ]),
  typed: anyOf(['', 'a', 'SS', 'ÄP', '%', 'orange', '1']),
  who: anyOf([
    someone(people[0]!, 'Clerk'),
    someone(people[1]!, 'Clerk', 'Boss'),
    someone('eve@example.com', 'Guest'),
  ]),
})

const site = (given: readonly string[]) =>
  siteOf({
    'config/doctypes/item.yaml':
      'doctype: Item\nchild: true\nfields: [{fieldname: item, type: text}, {fieldname: price, type: number}]',
    'config/doctypes/thing.yaml': `
doctype: Thing
naming: {rule: hash}
title_field: title
fields:
  - {fieldname: title, type: text, index: true}
  - {fieldname: note, type: long_text}
  - {fieldname: amount, type: currency, index: true}
  - {fieldname: count, type: integer}
  - {fieldname: open, type: check, index: true}
  - {fieldname: day, type: date, index: true}
  - {fieldname: ratio, type: number}
  - {fieldname: tags, type: json}
  - {fieldname: items, type: table, doctype: Item}
permissions:
${given.map((rule, index) => `  - {role: ${index % 2 ? 'Boss' : 'Clerk'}, actions: [read]${rule && `, ${rule}`}}`).join('\n')}
`,
  })

describe('the same answers', { skip: noPostgres }, () => {
  let server: TestPostgres
  const cleanups: (() => Promise<void>)[] = []
  const sql = new Sql(isolation, settings.sql)
  after(() => sql.close())
  before(async () => {
    server = await startPostgres({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  })
  after(async () => {
    for (const step of cleanups) await step()
  })

  it(`are given by every store to ${cases} questions`, async (t) => {
    for (let done = 0; done < cases; done += perSite) {
      const seed = done + 1
      const [given = []] = fc.sample(fc.array(anyOf(rules), { minLength: 1, maxLength: 4 }), {
        numRuns: 1,
        seed,
      })
      const stored = fc.sample(document, { numRuns: 60, seed }).map((values, index): StoredDocument => ({
        ...values,
        id: `${texts[index % texts.length]!}${index}`,
        creation: `2026-03-0${(index % 7) + 1}T00:00:00.000Z`,
        modified: '2026-03-01T00:00:00.000Z',
        modified_by: 'x',
        docstatus: 0,
      }))
      const both = await openBoth(t, server, given, stored)
      const questions = fc.sample(query, { numRuns: Math.min(perSite, cases - done), seed })
      for (let from = 0; from < questions.length; from += 20)
        await Promise.all(
          questions
            .slice(from, from + 20)
            .map((one, index) =>
              index % 4 === 3
                ? askForWords(both, stored, one)
                : index % 2
                  ? askForGroups(both, stored, one)
                  : ask(both, stored, given, one),
            ),
        )
      const clerks = [someone(people[0]!, 'Clerk'), someone(people[1]!, 'Clerk', 'Boss')]
      for (const who of clerks) await sameTables(both, stored, who)
      if (!withoutSql) await sameInStatements(both.all[0]!, clerks[(done / perSite) % 2]!, sql)
      await both.close()
    }
  })
})

type Question = typeof query extends fc.Arbitrary<infer T> ? T : never

interface Both {
  readonly all: readonly Documents[]
  close(): Promise<void>
}

async function openBoth(
  t: TestContext,
  server: TestPostgres,
  given: readonly string[],
  stored: readonly StoredDocument[],
): Promise<Both> {
  const { documents: embedded } = await openCompany(t, { files: site(given), seeds: false })
  const store = await openPostgresStore({
    url: await server.newDatabase(),
    clock: embedded.clock,
    databaseClock: embedded.clock,
    log: silent,
  })
  const all = [embedded, { ...embedded, store, memory: createDocumentMemory() }]
  for (const documents of all) {
    const things = collectionFor(documents, documents.platform.doctypes.get('Thing')!)
    await documents.store.transaction(async (tx) => {
      for (const one of stored) await tx.in(things).insert(one)
    })
  }
  return { all, close: () => store.close() }
}

async function ask(
  { all }: Both,
  stored: readonly StoredDocument[],
  given: readonly string[],
  { who, filters, orderBy, limit, offset }: Question,
): Promise<void> {
  const query = { filters, orderBy, limit, offset }
  const told = JSON.stringify({ who: who.user, given, query })
  const answers = await Promise.all(
    all.map(async (documents) => {
      try {
        const page = await listDocuments(documents, who, { doctype: 'Thing', ...query, fields: ['name'] })
        return { names: page.data.map(({ name }) => name), total: page.total }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { refused: `${error.code}: ${error.message}` }
      }
    }),
  )
  const [embedded, postgres] = answers
  assert.deepEqual(postgres, embedded, told)
  if ('refused' in embedded!) return
  assert.deepEqual(embedded, expected(all[0]!, stored, who, query), told)
}

/** What is found by words, and what is suggested for what was typed. */
async function askForWords({ all }: Both, stored: readonly StoredDocument[], one: Question): Promise<void> {
  const { who, words, typed, limit, offset, filters } = one
  const told = JSON.stringify({ who: who.user, words, typed, limit, offset, filters })
  const answers = await Promise.all(
    all.map(async (documents) => [
      await answerOr(() => searchDocuments(documents, who, { doctype: 'Thing', words, limit, offset })),
      await answerOr(() => suggestLinks(documents, who, { doctype: 'Thing', typed, limit, filters })),
    ]),
  )
  assert.deepEqual(answers[1], answers[0], told)
  const access = accessTo(who, all[0]!.platform.doctypes.get('Thing')!, all[0]!.clock.now())
  const open = new Set(stored.filter((document) => access.allows('read', document)).map(({ id }) => id))
  const [found, suggested] = answers[0]!
  if (found && 'results' in found)
    assert.ok(
      found.results.every(({ name }) => open.has(name)),
      told,
    )
  if (suggested && 'suggestions' in suggested)
    assert.ok(
      suggested.suggestions.every(({ value }) => open.has(value)),
      told,
    )
}

/** Groups, and how many documents are in them. */
async function askForGroups({ all }: Both, stored: readonly StoredDocument[], one: Question): Promise<void> {
  const { who, filters } = one
  const { by, direction, ...groups } = one.grouped
  const names = [...groups.groupBy.map((key) => key.replace(':', '_')), ...groups.metrics.map(({ as }) => as)]
  const orderBy = direction === '' ? undefined : `${names[by % names.length]!}${direction}`
  const query = { doctype: 'Thing', filters, ...groups, ...(orderBy !== undefined && { orderBy }) }
  const [embedded, postgres] = await Promise.all(
    all.map((documents) => answerOr(() => aggregateDocuments(documents, who, query))),
  )
  const told = JSON.stringify({ who: who.user, query })
  assert.deepEqual(postgres, embedded, told)
  if ('refused' in embedded!) return
  const { total } = expected(all[0]!, stored, who, one)
  assert.equal(embedded!.documents, total, told)
  for (const documents of all)
    assert.equal(await countDocuments(documents, who, 'Thing', filters), total, told)
}

async function answerOr<T>(work: () => Promise<T>): Promise<T | { readonly refused: string }> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refused: `${error.code}: ${error.message}` }
  }
}

/** What one gets who looks at every document. */
function expected(
  { platform, clock }: Documents,
  stored: readonly StoredDocument[],
  who: Principal,
  query: { filters: unknown[]; orderBy: string; limit: number; offset: number },
): { readonly names: readonly string[]; readonly total: number } {
  const access = accessTo(who, platform.doctypes.get('Thing')!, clock.now())
  const condition: Condition =
    query.filters.length === 0 ? always : conditionOf(readFilters(access, query.filters))
  const passes = tester(condition)
  const found = stored.filter((one) => access.allows('read', one) && passes(one))
  const keys = query.orderBy.split(', ').map((key) => key.split(' ') as [string, string])
  const sorted = [...found].sort((a, b) => {
    for (const [name, direction] of keys) {
      const field = name === 'name' ? 'id' : name
      const result = sortingOf(a[field] ?? null, b[field] ?? null)
      if (result !== 0) return direction === 'desc' ? -result : result
    }
    return a.id < b.id ? -1 : 1
  })
  const names = sorted.slice(query.offset, query.offset + query.limit).map(({ id }) => id)
  return { names, total: found.length }
}

/** What statements and programs see is what lists show. */
async function sameTables({ all }: Both, stored: readonly StoredDocument[], who: Principal): Promise<void> {
  for (const documents of all) {
    const access = accessTo(who, documents.platform.doctypes.get('Thing')!, documents.clock.now())
    const table = readableTables(documents, who).tables.find(({ name }) => name === 'Thing')
    const rows = table ? await allRows(table) : []
    const names = stored.filter((one) => access.allows('read', one)).map(({ id }) => id)
    assert.deepEqual(new Set(rows.map(([name]) => name)), new Set(names))
    assert.equal(rows.length, names.length)
  }
}

/** A statement sums, counts and groups what it sees as the documents do. */
async function sameInStatements(documents: Documents, who: Principal, sql: Sql): Promise<void> {
  const readable = readableTables(documents, who)
  if (!readable.tables.some(({ name }) => name === 'Thing')) return
  const measures = (['sum', 'min', 'max', 'count'] as const).map((kind) => ({
    function: kind,
    field: 'amount',
    as: kind,
  }))
  const ask = (groupBy: string[], metrics: object[]) =>
    aggregateDocuments(documents, who, {
      doctype: 'Thing',
      groupBy,
      metrics: metrics as typeof measures,
      limit: 100,
    })
  const run = async (statement: string) => {
    const tables = permittedTables(readable)
    const { signal } = new AbortController()
    return (await sql.query({ sql: statement, tables, maxRows: 200, signal })).rows
  }
  const text = (rows: readonly (readonly unknown[])[]) => JSON.parse(JSON.stringify(rows)) as unknown[][]
  const totals = (await ask([], measures)).rows.map((row) => Object.values(row))
  assert.deepEqual(
    text(await run('SELECT COALESCE(sum(amount), 0), min(amount), max(amount), count(amount) FROM thing')),
    text(totals),
  )
  for (const field of ['title', 'count', 'owner']) {
    const groups = (await ask([field], [{ function: 'count', as: 'documents' }])).rows.map((row) =>
      Object.values(row),
    )
    const seen = await run(`SELECT ${field}, count(*) FROM thing GROUP BY ALL`)
    const sorted = (rows: readonly (readonly unknown[])[]) =>
      text(rows)
        .map((row) => JSON.stringify(row))
        .sort()
    assert.deepEqual(sorted(seen), sorted(groups), field)
  }
}
