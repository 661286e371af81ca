/**
 * Questions to documents that lie in a table of others, beside statements that a person wrote for the same answer, over the same
 * driver and one connection, prepared as ours are: 1 k, 100 k and 1 M customers of 200 representatives, of whom one asks under a
 * rule by row. Both give JSON; before anything is measured, both have to say the same. Rounds take turns, and so does who comes
 * first in them; a cell is the median, over the rounds, of how much longer ours takes and of how much more processor time of the
 * process it takes, and its milliseconds. It is compiled first, as what runs is: tsx gives each function its name anew, whenever it is
 * made. `SIZES=1000,100000` and `SERVERS=PostgreSQL` before the command of README.md are some of them.
 */
import assert from 'node:assert/strict'
import process from 'node:process'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
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
import { type Fault, faultText } from '#site/site-files.ts'
import { readSources } from '../../src/settings/sources.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { siteOf } from '../../test/documents/trading-company.ts'
import { startMariadb } from '../../test/helpers/mariadb.ts'
import { startPostgres } from '../../test/helpers/postgres.ts'

const sizes = (process.env['SIZES'] ?? '1000,100000,1000000').split(',').map(Number)
const rounds = 31
/** Milliseconds that both are asked before anything is measured, so that their code is compiled, and of a round. */
const warmUp = 600
const moment = 40
const rep = 'rep7@example.com'
const who: Principal = {
  user: rep,
  fullName: rep,
  roles: new Set(['Clerk']),
  roleKey: roleKeyOf(new Set(['Clerk'])),
  scopes: [],
  requestId: '',
}

/** Rows of a statement with values bound to `$1`, `$2` …, prepared under its text. */
type Ask = (text: string, values: readonly unknown[]) => Promise<Row[]>
type Row = Readonly<Record<string, unknown>>

/** A kind of server with a table of customers. */
interface Server {
  readonly binary: string
  readonly begins: (column: string, value: string) => string
  /** Makes a database with so many customers; returns where it is, and what asks it. */
  readonly fill: (
    size: number,
  ) => Promise<{ readonly source: object; readonly ask: Ask; readonly end: () => Promise<void> }>
}

type Ending = { after: (step: unknown) => void }

const servers: Readonly<Record<string, (t: Ending) => Promise<Server>>> = {
  PostgreSQL: async (t) => {
    const server = await startPostgres(t)
    await server.admin.query('CREATE ROLE reader LOGIN')
    return {
      binary: '"C"',
      begins: (column, value) => `${column} ~* ('\\m' || ${value})`,
      fill: async (size) => {
        const url = new URL(await server.newDatabase())
        const owner = new Client({ connectionString: url.href })
        await owner.connect()
        for (const one of postgresTable(size).split(/;\s*(?=[A-Z])/)) await owner.query(one)
        await owner.end()
        const place = {
          host: '127.0.0.1',
          port: Number(url.port),
          database: url.pathname.slice(1),
          user: 'reader',
        }
        const client = new Client(place)
        await client.connect()
        const names = new Map<string, string>()
        const nameOf = (text: string): string => {
          if (!names.has(text)) names.set(text, `s${names.size}`)
          return names.get(text)!
        }
        return {
          source: { type: 'postgres', ...place },
          ask: async (text, values) =>
            (await client.query<Row>({ name: nameOf(text), text, values: [...values] })).rows,
          end: () => client.end(),
        }
      },
    }
  },
  MariaDB: async (t) => {
    const server = await startMariadb(t)
    return {
      binary: 'utf8mb4_bin',
      begins: (column, value) => `${column} REGEXP CONCAT('\\\\b', ${value})`,
      fill: async (size) => {
        const database = await server.newDatabase()
        await server.admin.query(`USE ${database}; ${mariadbTable(size)}`)
        const place = { host: '127.0.0.1', port: server.port, database, user: 'reader' }
        const connection = await createConnection({ ...place, charset: 'utf8mb4' })
        return {
          source: { type: 'mysql', ...place },
          ask: async (text, values) => {
            const bound: (string | number)[] = []
            const sql = text.replace(/\$(\d)/g, (_, at: string) => {
              bound.push(values[Number(at) - 1] as string)
              return '?'
            })
            return (await connection.execute<RowDataPacket[]>(sql, bound))[0]
          },
          end: () => connection.end(),
        }
      },
    }
  },
}

const postgresTable = (size: number): string => `
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, rep text NOT NULL, country char(2) NOT NULL,
    credit numeric(12,2) NOT NULL, phone text, city text, created_at timestamptz NOT NULL);
  INSERT INTO customer SELECT n, 'Customer ' || md5(n::text), 'rep' || n % 200 || '@example.com', (ARRAY['DE','FR','IT','ES'])[1 + n / 200 % 4],
    (n * 37 % 100000) / 4.0, '+49 ' || n, 'City ' || n % 977, '2020-01-01'::timestamptz + n * interval '1 minute' FROM generate_series(1, ${size}) n;
  CREATE INDEX ON customer (rep, created_at); CREATE INDEX ON customer (created_at); CREATE INDEX ON customer USING gin (name gin_trgm_ops);
  VACUUM ANALYZE customer; GRANT SELECT ON customer TO reader`

const mariadbTable = (size: number): string => `
  CREATE TABLE customer (id int PRIMARY KEY, name varchar(80) NOT NULL, rep varchar(60) NOT NULL, country char(2) NOT NULL,
    credit decimal(12,2) NOT NULL, phone varchar(40), city varchar(40), created_at datetime(6) NOT NULL) CHARACTER SET utf8mb4;
  INSERT INTO customer SELECT seq, CONCAT('Customer ', MD5(seq)), CONCAT('rep', seq % 200, '@example.com'), ELT(1 + seq DIV 200 % 4, 'DE', 'FR', 'IT', 'ES'),
    (seq * 37 % 100000) / 4, CONCAT('+49 ', seq), CONCAT('City ', seq % 977), '2020-01-01' + INTERVAL seq MINUTE FROM seq_1_to_${size};
  CREATE INDEX a ON customer (rep, created_at); CREATE INDEX b ON customer (created_at); ANALYZE TABLE customer`

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
/** A page in an order that is always the same, and how many there are, as both are answered. */
const page = (where: string): string =>
  `SELECT ${columns}, (SELECT count(*) FROM (SELECT 1 FROM customer WHERE ${where} LIMIT 10001) AS counted) AS total
   FROM customer WHERE ${where} ORDER BY created_at DESC, id LIMIT 21`

interface Question {
  readonly ours: (documents: Documents, n: number) => Promise<unknown>
  readonly sql: string
  readonly values: (n: number) => readonly unknown[]
}

/** The name of a customer of this representative. */
const mine = (n: number, size: number): number => 7 + 200 * (n % Math.max(1, Math.floor((size - 7) / 200)))

function questions(
  size: number,
  word: string,
  { binary, begins }: Server,
): Readonly<Record<string, Question>> {
  const narrow = { country: 'IT', credit: ['>', 3000] }
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
          filters: { city: ['>', 'City 5'], credit: ['>', 3000] },
        }),
      sql: page(`rep = $1 AND city COLLATE ${binary} > $2 AND credit > $3`),
      values: () => [rep, 'City 5', 3000],
    },
    count: {
      ours: (documents) => countStates(documents, who, 'Customer', narrow),
      sql: 'SELECT count(*) AS total FROM customer WHERE rep = $1 AND country = $2 AND credit > $3',
      values: () => [rep, 'IT', 3000],
    },
    'sum by country': {
      ours: (documents) =>
        aggregateDocuments(documents, who, {
          doctype: 'Customer',
          groupBy: ['country'],
          metrics: [{ function: 'sum', field: 'credit' }],
        }),
      sql: `SELECT country, sum(credit) AS credit, count(*) OVER () AS total, sum(count(*)) OVER () AS documents
        FROM customer WHERE rep = $1 GROUP BY country ORDER BY credit DESC, country LIMIT 100`,
      values: () => [rep],
    },
    get: {
      ours: (documents, n) => getDocument(documents, who, 'Customer', String(mine(n, size))),
      sql: `SELECT ${columns} FROM customer WHERE id = $1 AND rep = $2`,
      values: (n) => [mine(n, size), rep],
    },
    'search a word': {
      ours: (documents) => searchDocuments(documents, who, { words: word, doctype: 'Customer', limit: 20 }),
      sql: `SELECT id, name, count(*) OVER () AS total FROM customer WHERE rep = $1 AND ${begins('name', '$2')} ORDER BY id LIMIT 20`,
      values: () => [rep, word],
    },
  }
}

const endings: (() => unknown)[] = []
const t = { after: (step: unknown) => void endings.push(step as () => unknown) }
for (const name of (process.env['SERVERS'] ?? 'PostgreSQL,MariaDB').split(',')) {
  const server = await servers[name]!(t)
  const cells: string[][] = []
  for (const size of sizes) cells.push(await measure(server, size))
  const names = Object.keys(questions(1000, '', server))
  const shown = [
    `| ${name} | ${sizes.map((size) => `${size.toLocaleString('en')} rows`).join(' | ')} |`,
    `| --- |${' --- |'.repeat(sizes.length)}`,
    ...names.map((one, at) => `| ${one} | ${cells.map((of) => of[at]).join(' | ')} |`),
  ]
  process.stdout.write(`${shown.join('\n')}\n\n`)
}
for (const end of endings) await end()

async function measure(server: Server, size: number): Promise<string[]> {
  const { source, ask, end } = await server.fill(size)
  const [{ name } = {}] = await ask('SELECT name FROM customer WHERE id = $1', [mine(3, size)])
  const files = siteOf({
    'config/doctypes/customer.yaml': doctype,
    'config/sources.yaml': JSON.stringify({ sources: { erp: { ...source, max_connections: 1 } } }),
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
  const cells: string[] = []
  for (const { ours, sql, values } of Object.values(questions(size, (name as string).slice(9, 17), server))) {
    assert.deepEqual(saidBy(await ours(documents, 3)), foundBy(await ask(sql, values(3))))
    const both = {
      ours: async (n: number) => JSON.stringify(await ours(documents, n)),
      theirs: async (n: number) => JSON.stringify(await ask(sql, values(n))),
    }
    const times: Record<keyof typeof both, { wall: number; cpu: number }[]> = { ours: [], theirs: [] }
    for (const kind of ['ours', 'theirs', 'ours', 'theirs'] as const) await timed(both[kind], warmUp / 2)
    for (let round = 0; round < rounds; round++)
      for (const kind of round % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const))
        times[kind].push(await timed(both[kind], moment))
    const ratio = (of: 'wall' | 'cpu'): string =>
      median(times.ours.map((one, round) => one[of] / times.theirs[round]![of])).toFixed(2)
    cells.push(
      `${ratio('wall')} ×, ${ratio('cpu')} × processor, ${median(times.ours.map(({ wall }) => wall)).toFixed(2)} ms`,
    )
    process.stderr.write(`${size}: ${cells.at(-1)}\n`)
  }
  await end()
  await site.close()
  return cells
}

/** What an answer of ours says: what is in it, and of how many. */
function saidBy(answer: unknown): unknown {
  const { data, results, rows, total, documents, count, name } = answer as Readonly<Record<string, unknown>>
  if (count !== undefined) return { total: Number(count) }
  if (name !== undefined) return { names: [Number(name)] }
  const names = ((data ?? results) as Row[] | undefined)?.map((row) => Number(row['name']))
  if (names) return { names, total }
  const sums = (rows as Row[]).map((row) => [row['country'], Number(row['sum_credit'])])
  return { sums, total, documents }
}

/** What rows of a statement of theirs say. */
function foundBy(rows: readonly Row[]): unknown {
  const [first = {}] = rows
  const total = 'total' in first ? { total: Number(first['total']) } : {}
  if ('id' in first) return { names: rows.slice(0, 20).map(({ id }) => id), ...total }
  if (!('country' in first)) return total
  const sums = rows.map(({ country, credit }) => [country, Number(credit)])
  return { sums, ...total, documents: Number(first['documents']) }
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
