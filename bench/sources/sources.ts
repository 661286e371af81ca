/**
 * Questions to documents that lie in a table of others, beside statements that a person wrote for the same answer, over the same
 * driver and one connection: 1 k, 100 k and 1 M customers of 200 representatives, of whom one asks under a rule by row. Rounds take
 * turns; a cell is the median of how much longer ours takes, of how much more processor time of the process it takes, and its milliseconds.
 * `node --import tsx bench/sources/sources.ts` (`SIZES=1000,100000` for some of them)
 */
import process from 'node:process'
import { Client } from 'pg'
import { createLog } from '#leaf/log.ts'
import { systemClock } from '#leaf/clock.ts'
import { type Principal, roleKeyOf } from '../../src/core/principal.ts'
import { aggregateDocuments, countStates } from '../../src/documents/asking/aggregating.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { searchDocuments } from '../../src/documents/asking/searching.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { noSql } from '../../src/documents/reports/run-sql.ts'
import { SiteTables } from '../../src/documents/sources/site-tables.ts'
import { type Fault, faultText } from '../../src/site/site-files.ts'
import { readSources } from '../../src/site/sources.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { siteOf } from '../../test/documents/trading-company.ts'
import { startPostgres } from '../../test/helpers/postgres.ts'

const sizes = (process.env['SIZES'] ?? '1000,100000,1000000').split(',').map(Number)
const rounds = 9
/** Milliseconds that both are asked before anything is measured, so that their code is compiled, and of a round. */
const warmUp = 700
const moment = 100
const rep = 'rep7@example.com'
const who: Principal = {
  user: rep,
  fullName: rep,
  roles: new Set(['Clerk']),
  roleKey: roleKeyOf(new Set(['Clerk'])),
  scopes: [],
  requestId: '',
}

const tables = (size: number): string => `
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, rep text NOT NULL, country char(2) NOT NULL,
    credit numeric(12,2) NOT NULL, phone text, city text, created_at timestamptz NOT NULL);
  INSERT INTO customer SELECT n, 'Customer ' || md5(n::text), 'rep' || n % 200 || '@example.com', (ARRAY['DE','FR','IT','ES'])[1 + n % 4],
    (n * 37 % 100000) / 4.0, '+49 ' || n, 'City ' || n % 977, '2020-01-01'::timestamptz + n * interval '1 minute' FROM generate_series(1, ${size}) n;
  CREATE INDEX ON customer (rep, created_at); CREATE INDEX ON customer (created_at); CREATE INDEX ON customer USING gin (name gin_trgm_ops);
  VACUUM ANALYZE customer; GRANT SELECT ON customer TO reader`

const doctype = `
doctype: Customer
title_field: customer_name
from: { source: erp, table: customer, key: [id], standard: { creation: created_at }, search: [customer_name] }
fields:
  - { fieldname: customer_name, type: text, column: name }
  - { fieldname: rep, type: text }
  - { fieldname: country, type: text }
  - { fieldname: credit, type: currency }
  - { fieldname: phone, type: text }
  - { fieldname: city, type: text }
permissions: [{ role: Clerk, actions: [read], when: "doc.rep = user.id" }]`

const fields = ['name', 'customer_name', 'rep', 'country', 'credit', 'phone', 'city', 'creation']
const columns = 'id, name, rep, country, credit, phone, city, created_at'
/** A page, and how many there are, as both are answered. */
const page = (where: string): string =>
  `SELECT ${columns}, (SELECT count(*) FROM (SELECT 1 FROM customer WHERE ${where} LIMIT 10001) AS counted) AS total
   FROM customer WHERE ${where} ORDER BY created_at DESC LIMIT 21`

interface Question {
  readonly ours: (documents: Documents, n: number) => Promise<unknown>
  readonly sql: string
  readonly values: (n: number) => unknown[]
}

/** The name of a customer of this representative. */
const mine = (n: number, size: number): number => 7 + 200 * (n % Math.max(1, Math.floor((size - 7) / 200)))

function questions(size: number, word: string): Readonly<Record<string, Question>> {
  const narrow = { country: 'IT', credit: ['>', 9000] }
  return {
    'list, 20 of mine': {
      ours: (documents) => listDocuments(documents, who, { doctype: 'Customer', fields }),
      sql: page('rep = $1'),
      values: () => [rep],
    },
    'filter, 20 of mine': {
      ours: (documents) =>
        listDocuments(documents, who, {
          doctype: 'Customer',
          fields,
          filters: { city: ['>', 'City 5'], credit: ['>', 9000] },
        }),
      sql: page('rep = $1 AND city COLLATE "C" > $2 AND credit > $3'),
      values: () => [rep, 'City 5', 9000],
    },
    count: {
      ours: (documents) => countStates(documents, who, 'Customer', narrow),
      sql: 'SELECT count(*) FROM customer WHERE rep = $1 AND country = $2 AND credit > $3',
      values: () => [rep, 'IT', 9000],
    },
    'sum by country': {
      ours: (documents) =>
        aggregateDocuments(documents, who, {
          doctype: 'Customer',
          groupBy: ['country'],
          metrics: [{ function: 'sum', field: 'credit' }],
        }),
      sql: 'SELECT country, sum(credit) FROM customer WHERE rep = $1 GROUP BY country ORDER BY 2 DESC',
      values: () => [rep],
    },
    get: {
      ours: (documents, n) => getDocument(documents, who, 'Customer', String(mine(n, size))),
      sql: `SELECT ${columns} FROM customer WHERE id = $1 AND rep = $2`,
      values: (n) => [mine(n, size), rep],
    },
    'search a word': {
      ours: (documents) => searchDocuments(documents, who, { words: word, doctype: 'Customer', limit: 20 }),
      sql: `SELECT ${columns} FROM customer WHERE rep = $1 AND name ILIKE $2 LIMIT 20`,
      values: () => [rep, `% ${word}%`],
    },
  }
}

const endings: (() => unknown)[] = []
const server = await startPostgres({ after: (step) => void endings.push(step as () => unknown) })
await server.admin.query('CREATE ROLE reader LOGIN')
const lines: string[] = []
for (const size of sizes) lines.push(...(await measure(size)))
const names = Object.keys(questions(1000, ''))
const shown = [
  `| | ${sizes.map((size) => `${size.toLocaleString('en')} rows`).join(' | ')} |`,
  `| --- |${' --- |'.repeat(sizes.length)}`,
  ...names.map(
    (name, at) => `| ${name} | ${sizes.map((_, n) => lines[n * names.length + at]).join(' | ')} |`,
  ),
]
process.stdout.write(`${shown.join('\n')}\n`)
for (const end of endings) await end()

async function measure(size: number): Promise<string[]> {
  const url = new URL(await server.newDatabase())
  const owner = new Client({ connectionString: url.href })
  await owner.connect()
  for (const one of tables(size).split(/;\s*(?=[A-Z])/)) await owner.query(one)
  const { rows } = await owner.query<{ word: string }>(
    `SELECT left(substr(name, 10), 8) AS word FROM customer WHERE id = ${mine(3, size)}`,
  )
  await owner.end()
  const place = { host: '127.0.0.1', port: Number(url.port), database: url.pathname.slice(1), user: 'reader' }
  const files = siteOf({
    'config/doctypes/customer.yaml': doctype,
    'config/sources.yaml': JSON.stringify({
      sources: { erp: { type: 'postgres', ...place, max_connections: 1 } },
    }),
  })
  const platform = readPlatform(files, [], readPeople(files, []))
  const log = createLog('error', process.stderr)
  const site = new SiteTables({ log, clock: systemClock, serves: false, secretOf: () => Promise.resolve('') })
  const definitions = { files, platform, sources: readSources(files, []) }
  const faults: Fault[] = []
  await site.check(definitions, faults, [])
  if (faults.length > 0) throw new Error(faults.map(faultText).join('\n'))
  const documents = {
    platform,
    clock: systemClock,
    memory: createDocumentMemory(),
    runSql: noSql,
    tables: await site.open(definitions),
  } as unknown as Documents
  const client = new Client(place)
  await client.connect()
  const cells: string[] = []
  for (const { ours, sql, values } of Object.values(questions(size, rows[0]!.word))) {
    const times: Record<'ours' | 'theirs', { wall: number; cpu: number }[]> = { ours: [], theirs: [] }
    for (let round = 0; round <= rounds; round++)
      for (const kind of ['ours', 'theirs'] as const) {
        const ask =
          kind === 'ours'
            ? (n: number) => ours(documents, n)
            : async (n: number) => JSON.stringify((await client.query(sql, values(n))).rows)
        const one = await timed(ask, round === 0 ? warmUp : moment)
        if (round > 0) times[kind].push(one)
      }
    const ratio = (of: 'wall' | 'cpu'): string =>
      (median(times.ours.map((one) => one[of])) / median(times.theirs.map((one) => one[of]))).toFixed(2)
    cells.push(
      `${ratio('wall')} ×, ${ratio('cpu')} × processor, ${median(times.ours.map(({ wall }) => wall)).toFixed(2)} ms`,
    )
    process.stderr.write(`${size}: ${cells.at(-1)}\n`)
  }
  await client.end()
  await site.close()
  return cells
}

/** Milliseconds of one question, asked for a moment. */
async function timed(
  ask: (n: number) => Promise<unknown>,
  milliseconds: number,
): Promise<{ wall: number; cpu: number }> {
  const before = process.cpuUsage()
  const begin = performance.now()
  let times = 0
  while (performance.now() - begin < milliseconds) await ask(times++)
  const { user, system } = process.cpuUsage(before)
  return { wall: (performance.now() - begin) / times, cpu: (user + system) / 1000 / times }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}
