/**
 * Questions about documents at several sizes, on both stores side by side, and the same questions in hand-written SQL
 * over the same tables as the anchor. Each store at each size is asked in a process of its own, as a daemon would be:
 * its CPU time for a question, the time until the answer, medians of 15, and its memory after all of them.
 *
 *   node --import tsx bench/documents/documents.ts [sizes]     1000,100000,1000000 without sizes
 *
 * Without PostgreSQL on the machine only the embedded store is measured.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { systemClock } from '../../src/core/clock.ts'
import { AppError } from '../../src/core/errors.ts'
import { createLog } from '../../src/core/log.ts'
import { type Principal, roleKeyOf } from '../../src/core/principal.ts'
import { aggregateDocuments, countDocuments } from '../../src/documents/aggregating.ts'
import { createDocument } from '../../src/documents/creating.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { getDocument, listDocuments } from '../../src/documents/reading.ts'
import { readPlatform } from '../../src/documents/read-platform.ts'
import { noSql } from '../../src/documents/run-sql.ts'
import { searchDocuments } from '../../src/documents/searching.ts'
import type { StoredDocument } from '../../src/documents/stored.ts'
import { updateDocument } from '../../src/documents/updating.ts'
import { readSite } from '../../src/site/read-site.ts'
import { openEmbeddedStore } from '../../src/store/embedded.ts'
import { openPostgresStore } from '../../src/store/postgres.ts'
import type { Store } from '../../src/store/store.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { noPostgres, startPostgres } from '../../test/helpers/postgres.ts'

const repeats = 15
const doctype = 'Opportunity'
const log = createLog('silent', process.stderr)
const files = await readSite(join(import.meta.dirname, '../..'))
const platform = readPlatform(files, [], readPeople(files, []))
const audit = {
  record: async () => undefined,
  recordIn: async () => undefined,
  requireWritable: () => undefined,
}
const boss = someone('boss@example.com', 'Sales Manager')
const seller = someone('sales@example.com', 'Sales User')

/** What the opportunities link to. */
const lead: StoredDocument = {
  id: 'LEAD-00001',
  owner: boss.user,
  creation: '2025-01-01T00:00:00.000Z',
  modified: '2025-01-01T00:00:00.000Z',
  modified_by: boss.user,
  docstatus: 0,
}

const from = `FROM assistant_core.document d WHERE collection = 'document.opportunity' AND data IS NOT NULL`
const newest = `ORDER BY assistant_core.place(data -> 'creation') DESC, id LIMIT 20`
/** A page and how many there are, up to as many as a list counts. */
const listed = (where: string, order = newest): string =>
  `SELECT body, (SELECT count(*) FROM (SELECT 1 ${from} ${where} LIMIT 10001) AS counted) ${from} ${where} ${order}`
const searched = (words: string): string =>
  `SELECT id, count(*) OVER () ${from} AND words @@ $$${words}$$::tsquery ORDER BY ts_rank(words, $$${words}$$::tsquery) DESC, id LIMIT 20`
const anchors: Record<string, string> = {
  'list newest': listed(''),
  'list, indexed filter': listed(`AND data ->> 'stage' = 'Won'`),
  'list, rule': listed(`AND data ->> 'owner' = 'sales@example.com'`),
  'list, part of a text': listed(`AND lower(data ->> 'title') LIKE '%order 472%'`),
  'page 500': listed('', newest.replace('20', '500')),
  'count, indexed': `SELECT count(*) ${from} AND data ->> 'stage' = 'Won'`,
  'count, rule': `SELECT count(*) ${from} AND data ->> 'owner' = 'sales@example.com'`,
  'sum by group': `SELECT data ->> 'stage', sum((data ->> 'amount')::numeric) ${from} GROUP BY 1`,
  'search, one found': searched(`('title=order' | 'id=order') & ('title=00472' | 'id=00472')`),
  'search, many found': searched(`'title=amber':* & 'title=47':*`),
  get: `SELECT body ${from} AND id = decode('004f00500050002d00300030003000300031', 'hex')`,
}

interface Measured {
  readonly cpu: number
  readonly wall: number
}
type Row = Record<string, Measured>

const [given = '1000,100000,1000000', count, place] = process.argv.slice(2)
if (given === 'fill') await fillEmbedded(Number(count), place!)
else if (given === 'embedded' || given === 'PostgreSQL') await answer(given, Number(count), place!)
else await compare(given.split(',').map(Number))

async function compare(sizes: readonly number[]): Promise<void> {
  const cleanups: (() => Promise<void>)[] = []
  const server = noPostgres
    ? undefined
    : await startPostgres({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  try {
    const measured: { readonly size: number; readonly columns: Record<string, Row> }[] = []
    for (const size of sizes) {
      const columns = {
        embedded: await embedded(size),
        ...(server && (await postgres(size, await server.newDatabase()))),
      }
      measured.push({ size, columns })
      print(size, columns)
    }
    conclude(measured)
  } finally {
    for (const step of cleanups) await step()
  }
}

async function child(...words: string[]): Promise<string> {
  const flags = ['--expose-gc', '--import', 'tsx', import.meta.filename]
  return (await promisify(execFile)(process.execPath, [...flags, ...words])).stdout
}

async function embedded(size: number): Promise<Row> {
  const folder = await mkdtemp(join(tmpdir(), 'documents-bench-'))
  try {
    await child('fill', String(size), folder)
    return JSON.parse(await child('embedded', String(size), folder)) as Row
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function postgres(size: number, url: string): Promise<Record<string, Row>> {
  const first = await openPostgresStore({ url, clock: systemClock, log })
  const client = new Client(url)
  await client.connect()
  await client.query(filling(size))
  collectionFor(documentsOn(first), platform.doctypes.get(doctype)!)
  do await wait(500)
  while ((first.stats().building ?? 0) > 0)
  await client.query('VACUUM ANALYZE assistant_core.document')
  await first.close()
  const row = JSON.parse(await child('PostgreSQL', String(size), url)) as Row
  const sql: Row = {}
  for (const [name, text] of Object.entries(anchors)) sql[name] = await measured(() => client.query(text))
  await client.end()
  return { PostgreSQL: row, SQL: sql }
}

async function fillEmbedded(size: number, folder: string): Promise<void> {
  const store = await openEmbeddedStore({ folder, clock: systemClock, log })
  await fill(documentsOn(store), size)
  await store.compact()
  await store.close()
}

/** What a process of one store measures of itself. */
async function answer(kind: string, size: number, place: string): Promise<void> {
  const before = process.cpuUsage()
  const start = performance.now()
  const store =
    kind === 'embedded'
      ? await openEmbeddedStore({ folder: place, clock: systemClock, log })
      : await openPostgresStore({ url: place, clock: systemClock, log })
  const documents = documentsOn(store)
  collectionFor(documents, platform.doctypes.get(doctype)!)
  const row: Row = { start: since(before, start) }
  await questions(documents, row, size)
  await store.close()
  console.log(JSON.stringify(row))
}

async function questions(documents: Documents, row: Row, size: number): Promise<void> {
  await documents.store
    .collection<{ id: string; last: number }>({ name: 'platform.series' })
    .put({ id: 'OPP-#####', last: size })
  await collectionFor(documents, platform.doctypes.get('Lead')!).put(lead)
  const list = (who: Principal, more: object) => () => listDocuments(documents, who, { doctype, ...more })
  row['list newest'] = await measured(list(boss, {}))
  row['list, indexed filter'] = await measured(list(boss, { filters: { stage: 'Won' } }))
  row['list, rule'] = await measured(list(seller, {}))
  row['list, part of a text'] = await measured(list(boss, { filters: [['title', 'like', 'order 472']] }), 5)
  row['page 500'] = await measured(list(boss, { limit: 500 }))
  row['list by amount, offset 500'] = await measured(list(boss, { orderBy: 'amount desc', offset: 500 }))
  row['count, indexed'] = await measured(() => countDocuments(documents, boss, doctype, { stage: 'Won' }))
  row['count, rule'] = await measured(() => countDocuments(documents, seller, doctype))
  row['sum by group'] = await measured(
    () =>
      aggregateDocuments(documents, boss, {
        doctype,
        groupBy: ['stage'],
        metrics: [{ function: 'sum', field: 'amount' }],
      }),
    3,
  )
  const search = (words: string) => () => searchDocuments(documents, boss, { doctype, words, limit: 20 })
  row['first search'] = await measured(search('order 00472'), 1)
  row['search, one found'] = await measured(search('order 00472'), 5)
  row['search, many found'] = await measured(search('amber 47'), 5)
  row['get'] = await measured(() => getDocument(documents, boss, doctype, 'OPP-00001'))
  row['create'] = await measured((n) =>
    createDocument(
      documents,
      boss,
      doctype,
      { title: `bench ${n}`, lead: 'LEAD-00001', stage: 'Won' },
      { dryRun: true },
    ),
  )
  row['update'] = await measured((n) => updateDocument(documents, boss, doctype, 'OPP-00001', { amount: n }))
  global.gc?.()
  row['memory, MB'] = { cpu: process.memoryUsage().rss / 2 ** 20, wall: 0 }
}

async function measured(run: (n: number) => Promise<unknown>, times = repeats): Promise<Measured> {
  const cpu: number[] = []
  const wall: number[] = []
  for (let n = 0; n < times; n++) {
    const before = process.cpuUsage()
    const start = performance.now()
    try {
      await run(n)
    } catch (error) {
      // What takes too long on so many is refused, which is an answer.
      if (!(error instanceof AppError) || error.code !== 'invalid') throw error
      return { cpu: Infinity, wall: Infinity }
    }
    const one = since(before, start)
    cpu.push(one.cpu)
    wall.push(one.wall)
  }
  return { cpu: median(cpu), wall: median(wall) }
}

function since(before: NodeJS.CpuUsage, start: number): Measured {
  const { user, system } = process.cpuUsage(before)
  return { cpu: (user + system) / 1000, wall: performance.now() - start }
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1]!
}

function print(size: number, columns: Record<string, Row>): void {
  const names = Object.keys(columns)
  console.error(`\n${size} documents${' '.repeat(20)}${names.map((name) => name.padStart(22)).join('')}`)
  console.error(`${''.padEnd(34)}${names.map(() => 'CPU      wall'.padStart(22)).join('')}`)
  for (const question of Object.keys(columns['embedded']!)) {
    const cells = names.map((name) => {
      const one = columns[name]![question]
      return (one ? `${shown(one.cpu, 1).padStart(9)} ${shown(one.wall, 1).padStart(9)}` : '').padStart(22)
    })
    console.error(`${question.padEnd(34)}${cells.join('')}`)
  }
}

/** CPU time at each size and how it grew, and at the largest how the time until the answer compares with SQL. */
function conclude(
  measured: readonly { readonly size: number; readonly columns: Record<string, Row> }[],
): void {
  const stores = ['embedded', 'PostgreSQL'].filter((name) => measured[0]!.columns[name])
  const [first, last] = [measured[0]!.columns, measured.at(-1)!.columns]
  const heads = stores.flatMap((name) => [...measured.map(({ size }) => `${name}, ${size}`), '×'])
  console.log(`| CPU ms | ${heads.join(' | ')} | time beside SQL |`)
  console.log(`|${' --- |'.repeat(heads.length + 2)}`)
  for (const question of Object.keys(first['embedded']!)) {
    const cells = stores.flatMap((name) => {
      const times = measured.map(({ columns }) => columns[name]![question]!.cpu ?? Infinity)
      const grown = times.at(-1)! / times[0]!
      return [...times.map((time) => shown(time, time < 10 ? 2 : 0)), shown(grown, 1)]
    })
    const anchor = last['SQL']?.[question]
    const beside = anchor ? `${(last['PostgreSQL']![question]!.wall / anchor.wall).toFixed(1)} ×` : ''
    console.log(`| ${question} | ${cells.join(' | ')} | ${beside} |`)
  }
}

/** JSON has no infinity. */
function shown(number: number | null, digits: number): string {
  return number === null || !Number.isFinite(number) ? 'refused' : number.toFixed(digits)
}

function documentsOn(store: Store): Documents {
  return { platform, store, audit, clock: systemClock, memory: createDocumentMemory(), runSql: noSql }
}

async function fill(documents: Documents, size: number): Promise<void> {
  const opportunities = collectionFor(documents, platform.doctypes.get(doctype)!)
  const words = ['amber', 'basalt', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'heath']
  const stages = ['Prospecting', 'Proposal', 'Negotiation', 'Won', 'Lost']
  for (let first = 0; first < size; first += 5000)
    await documents.store.transaction(async (tx) => {
      for (let n = first; n < Math.min(size, first + 5000); n++) {
        const time = new Date(Date.UTC(2025, 0, 1) + n * 30_000).toISOString()
        await tx.in(opportunities).insert({
          id: `OPP-${String(n).padStart(5, '0')}`,
          owner: n % 3 === 0 ? 'sales@example.com' : 'boss@example.com',
          creation: time,
          modified: time,
          modified_by: 'boss@example.com',
          docstatus: 0,
          title: `${words[n % 8]!} order ${n}`,
          lead: 'LEAD-00001',
          stage: stages[(n * 3) % 5]!,
          amount: (n * 7919) % 100_000,
          probability: (n * 13) % 101,
          expected_close: new Date(Date.UTC(2026, 0, 1) + (n % 365) * 86_400_000).toISOString().slice(0, 10),
        })
      }
    })
}

/** The same documents, made by the database itself. */
function filling(size: number): string {
  const time = `to_char(timestamp '2025-01-01' + n * interval '30 seconds', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const name = `'OPP-' || lpad(n::text, greatest(5, length(n::text)), '0')`
  return `INSERT INTO assistant_core.document (collection, id, body)
    SELECT 'document.opportunity', decode(regexp_replace(encode(convert_to(${name}, 'UTF8'), 'hex'), '(..)', '00\\1', 'g'), 'hex'),
      json_build_object('id', ${name}, 'owner', CASE n % 3 WHEN 0 THEN 'sales@example.com' ELSE 'boss@example.com' END,
        'creation', ${time}, 'modified', ${time}, 'modified_by', 'boss@example.com', 'docstatus', 0,
        'title', (ARRAY['amber', 'basalt', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'heath'])[n % 8 + 1] || ' order ' || n,
        'lead', 'LEAD-00001',
        'stage', (ARRAY['Prospecting', 'Proposal', 'Negotiation', 'Won', 'Lost'])[n * 3 % 5 + 1],
        'amount', n::bigint * 7919 % 100000, 'probability', n * 13 % 101,
        'expected_close', to_char(date '2026-01-01' + n % 365, 'YYYY-MM-DD'))::text
    FROM generate_series(0, ${size - 1}) AS n`
}

function someone(user: string, ...names: string[]): Principal {
  const roles = new Set(names)
  return { user, fullName: user, roles, roleKey: roleKeyOf(roles), scopes: [], requestId: 'bench' }
}
