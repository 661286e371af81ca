/**
 * Whatever is asked, the embedded store, PostgreSQL, the plain evaluator and statements in SQL answer the same: the evaluator is the oracle,
 * which looks at every document by itself.
 */
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import * as fc from '../helpers/random.ts'
import { permittedTables } from '../../src/analysis/permitted.ts'
import { Sql } from '#sandbox/sql/sql.ts'
import { always, type Condition, tester } from '#state/questions/conditions.ts'
import { AppError } from '#leaf/errors.ts'
import { order as sortingOf } from '#state/questions/expression-values.ts'
import type { Principal } from '../../src/core/principal.ts'
import { aggregateDocuments, type Metric } from '../../src/documents/asking/aggregating.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { conditionOf, readFilters } from '../../src/documents/asking/filters.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { accessTo } from '../../src/documents/permission.ts'
import { listDocuments } from '../../src/documents/asking/reading.ts'
import type { StoredDocument } from '../../src/documents/writing/stored.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/asking/searching.ts'
import { readableTables } from '../../src/documents/reports/tables.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../helpers/postgres.ts'
import { isolation, settings, withoutSql } from '../../packages/sandbox/test/machine.ts'
import {
  documentsOf,
  doctypes,
  type DrawnDoctype,
  people,
  questionsOf,
  siteWith,
  texts,
} from './drawn-doctypes.ts'
import { allRows, openCompany, silent, someone } from './trading-company.ts'
import { answerOr } from '../helpers/answer-or.ts'

const cases = Number(process.env['SAME_ANSWERS_CASES'] ?? 1_000)
const perSite = 500

describe('the same answers', { skip: noPostgres }, () => {
  const sql = new Sql(isolation, settings.sql)
  after(() => sql.close())
  const server = suitePostgres()

  it(`are given by every store to ${cases} questions`, async (t) => {
    for (let done = 0; done < cases; done += perSite) {
      const seed = fc.readConfigureGlobal().seed! + done
      const drawn = <T>(from: fc.Arbitrary<T>, numRuns: number): T[] => fc.sample(from, { numRuns, seed })
      const [doctype] = drawn(doctypes, 1) as [DrawnDoctype]
      const stored = drawn(documentsOf(doctype), 60).map((values, index) => ({
        ...values,
        id: `${texts[index % texts.length]!}${index}`,
        creation: `2026-03-0${(index % 7) + 1}T00:00:00.000Z`,
        modified: '2026-03-01T00:00:00.000Z',
        modified_by: 'x',
        docstatus: 0,
      })) as unknown as StoredDocument[]
      const both = await openBoth(t, server, doctype, stored)
      const questions = drawn(questionsOf(doctype), Math.min(perSite, cases - done))
      for (let from = 0; from < questions.length; from += 20)
        await Promise.all(
          questions
            .slice(from, from + 20)
            .map((one, index) =>
              index % 4 === 3
                ? askForWords(both, stored, one)
                : index % 2
                  ? askForGroups(both, stored, one)
                  : ask(both, stored, one),
            ),
        )
      const clerks = [someone(people[0], 'Clerk'), someone(people[1], 'Clerk', 'Boss')]
      for (const who of clerks) await sameTables(both, stored, who)
      if (!withoutSql) await sameInStatements(both, doctype, clerks[(done / perSite) % 2]!, sql)
      await both.close()
    }
  })
})

type Question = ReturnType<typeof questionsOf> extends fc.Arbitrary<infer T> ? T : never

interface Both {
  /** What a failure is told with. */
  readonly told: string
  readonly all: readonly Documents[]
  close(): Promise<void>
}

async function openBoth(
  t: TestContext,
  server: TestPostgres,
  doctype: DrawnDoctype,
  stored: readonly StoredDocument[],
): Promise<Both> {
  const { documents: embedded } = await openCompany(t, { files: siteWith(doctype), seeds: false })
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
  return { told: JSON.stringify(doctype), all, close: () => store.close() }
}

async function ask(
  { told: doctype, all }: Both,
  stored: readonly StoredDocument[],
  { who, filters, orderBy, limit, offset }: Question,
): Promise<void> {
  const query = { filters, orderBy, limit, offset }
  const told = `${doctype} ${JSON.stringify({ who: who.user, query })}`
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
async function askForWords(
  { told: doctype, all }: Both,
  stored: readonly StoredDocument[],
  one: Question,
): Promise<void> {
  const { who, words, typed, limit, offset, filters } = one
  const told = `${doctype} ${JSON.stringify({ who: who.user, words, typed, limit, offset, filters })}`
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
async function askForGroups(
  { told: doctype, all }: Both,
  stored: readonly StoredDocument[],
  one: Question,
): Promise<void> {
  const { who, filters } = one
  const { by, direction, ...groups } = one.grouped
  const names = [...groups.groupBy.map((key) => key.replace(':', '_')), ...groups.metrics.map(({ as }) => as)]
  const orderBy = direction === '' ? undefined : `${names[by % names.length]!}${direction}`
  const query = { doctype: 'Thing', filters, ...groups, ...(orderBy !== undefined && { orderBy }) }
  const [embedded, postgres] = await Promise.all(
    all.map((documents) => answerOr(() => aggregateDocuments(documents, who, query))),
  )
  const told = `${doctype} ${JSON.stringify({ who: who.user, query })}`
  assert.deepEqual(postgres, embedded, told)
  if ('refused' in embedded!) return
  const { total } = expected(all[0]!, stored, who, one)
  assert.equal(embedded!.documents, total, told)
  for (const documents of all)
    assert.equal(await countDocuments(documents, who, 'Thing', filters), total, told)
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

/** A statement sums, counts and groups what it sees as the documents do, and means the same by equal and before. */
async function sameInStatements(
  { told, all }: Both,
  { fields }: DrawnDoctype,
  who: Principal,
  sql: Sql,
): Promise<void> {
  const documents = all[0]!
  const readable = readableTables(documents, who)
  if (!readable.tables.some(({ name }) => name === 'Thing')) return
  const access = accessTo(who, documents.platform.doctypes.get('Thing')!, documents.clock.now())
  const known = fields.filter(({ name }) => access.queryable(access.doctype.fields.get(name)!))
  const asJson = (rows: readonly (readonly unknown[])[]) => JSON.parse(JSON.stringify(rows)) as unknown[][]
  const run = async (statement: string, parameters: readonly unknown[] = []): Promise<unknown[][]> => {
    const tables = permittedTables(readable)
    const { signal } = new AbortController()
    return asJson((await sql.query({ sql: statement, parameters, tables, maxRows: 200, signal })).rows)
  }
  const groups = async (groupBy: string[], metrics: readonly Metric[]): Promise<unknown[][]> => {
    const page = await aggregateDocuments(documents, who, { doctype: 'Thing', groupBy, metrics, limit: 100 })
    return asJson(page.rows.map((row) => Object.values(row)))
  }
  const sorted = (rows: unknown[][]): string[] => rows.map((row) => JSON.stringify(row)).sort()
  for (const { name, type } of known) {
    const column = `"${name}"`
    if (type === 'currency') {
      const kinds = ['sum', 'min', 'max', 'count'] as const
      const statement = `SELECT COALESCE(sum(${column}), 0), min(${column}), max(${column}), count(${column}) FROM thing`
      const calculated = await groups(
        [],
        kinds.map((kind) => ({ function: kind, field: name })),
      )
      assert.deepEqual(await run(statement), calculated, `${told} ${name}`)
    }
    if (type === 'text' || type === 'integer') {
      const seen = await run(`SELECT ${column}, count(*) FROM thing GROUP BY ALL`)
      const counted = await groups([name], [{ function: 'count', as: 'documents' }])
      assert.deepEqual(sorted(seen), sorted(counted), `${told} ${name}`)
    }
    const asked: Partial<Record<string, readonly [string, string | number]>> = {
      text: ['=', 'Ä'],
      integer: ['<', 1],
      number: ['>=', 0.1],
      date: ['<', '2026-01-31'],
    }
    const [operator, value] = asked[type] ?? []
    if (operator === undefined || value === undefined) continue
    const [row] = await run(`SELECT count(*) FROM thing WHERE ${column} ${operator} $1`, [value])
    const held = await countDocuments(documents, who, 'Thing', [[name, operator, value]])
    assert.deepEqual(row, [held], `${told} ${name} ${operator} ${value}`)
  }
}
