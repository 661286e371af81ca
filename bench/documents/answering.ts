/** What a process of one store is asked, as a daemon would be: its processor time and the time until the answer. */
import process from 'node:process'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { createLog } from '#leaf/log.ts'
import { type Principal, roleKeyOf } from '../../src/core/principal.ts'
import { aggregateDocuments, countStates } from '../../src/documents/asking/aggregating.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { noSql } from '../../src/documents/reports/run-sql.ts'
import { searchDocuments } from '../../src/documents/asking/searching.ts'
import type { StoredDocument } from '../../src/documents/writing/stored.ts'
import { updateDocument } from '../../src/documents/writing/updating.ts'
import { readSite } from '#site/read-site.ts'
import { migrations, openEmbeddedStore } from '#state/operations.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import type { Store } from '#state/store.ts'
import { join } from 'node:path'
import { readPeople } from '../../src/users/read-people.ts'

/** Milliseconds, of one time that a question was asked. */
export interface Measured {
  readonly cpu: number
  readonly wall: number
}

/** What a process is told to do: a question, so many times or as often as fits into a moment. */
export interface Asked {
  readonly question: string
  readonly times: number
}

type Ask = (n: number) => Promise<unknown>

const doctype = 'Opportunity'
const log = createLog('silent', process.stderr)
const momentMilliseconds = 300

/** Opens a store, says how long that took, and answers what it is asked until nobody listens any more. */
export async function answer(kind: string, size: number, place: string): Promise<void> {
  const documents = kind === 'SQL' ? undefined : await openDocuments(kind, place)
  const asks = documents ? await ofStore(documents, size) : await ofSql(place)
  process.on(
    'message',
    (asked: Asked) => void measured(asks, asked).then((one) => process.send!(one ?? null)),
  )
  process.send!(documents?.started ?? { cpu: 0, wall: 0 })
}

/** The store that a process is about, with the collection that is asked about. */
export async function openDocuments(
  kind: string,
  place: string,
): Promise<Documents & { readonly started: Measured }> {
  const files = await readSite(join(import.meta.dirname, '../..'))
  const platform = readPlatform(files, [], readPeople(files, []))
  const before = process.cpuUsage()
  const start = performance.now()
  const store: Store =
    kind === 'embedded'
      ? await openEmbeddedStore({ folder: place, clock: systemClock, log, migrations })
      : await openPostgresStore({ url: place, clock: systemClock, log })
  const audit = {
    record: async () => undefined,
    recordIn: async () => undefined,
    requireWritable: () => undefined,
  }
  const documents = {
    platform,
    store,
    audit,
    clock: systemClock,
    memory: createDocumentMemory(),
    runSql: noSql,
    quota: { max_documents_per_user: 0, max_bytes_per_user: 0 },
  }
  collectionFor(documents, platform.doctypes.get(doctype)!)
  return { ...documents, started: since(before, start) }
}

async function ofStore(documents: Documents, size: number): Promise<Record<string, Ask>> {
  const { store, platform } = documents
  await store.collection<{ id: string; last: number }>({ name: 'platform.series' }).put({
    id: 'OPP-#####',
    last: size,
  })
  await collectionFor(documents, platform.doctypes.get('Lead')!).put(lead)
  const list = (who: Principal, more: object) => () => listDocuments(documents, who, { doctype, ...more })
  const search = (words: string) => () => searchDocuments(documents, boss, { doctype, words, limit: 20 })
  const sum = { function: 'sum', field: 'amount' } as const
  return {
    'list newest': list(boss, {}),
    'list, indexed filter': list(boss, { filters: { stage: 'Won' } }),
    'list, rule': list(seller, {}),
    'list, part of a text': list(boss, { filters: [['title', 'like', 'order 472']] }),
    'page 500': list(boss, { limit: 500 }),
    'list by amount, offset 500': list(boss, { orderBy: 'amount desc', offset: 500 }),
    'count, indexed': () => countStates(documents, boss, doctype, { stage: 'Won' }),
    'count, rule': () => countStates(documents, seller, doctype),
    'sum by group': () =>
      aggregateDocuments(documents, boss, { doctype, groupBy: ['stage'], metrics: [sum] }),
    'first search': search('order 00472'),
    'search, one found': search('order 00472'),
    'search, many found': search('amber 47'),
    get: () => getDocument(documents, boss, doctype, 'OPP-00001'),
    create: (n) =>
      createDocument(
        documents,
        boss,
        doctype,
        { title: `bench ${n}`, lead: lead.id, stage: 'Won' },
        { dryRun: true },
      ),
    update: (n) => updateDocument(documents, boss, doctype, 'OPP-00001', { amount: n }),
  }
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

function someone(user: string, ...names: string[]): Principal {
  const roles = new Set(names)
  return { user, fullName: user, roles, roleKey: roleKeyOf(roles), scopes: [], requestId: 'bench' }
}

const from = `FROM assistant_core.document d WHERE collection = 'document.opportunity' AND data IS NOT NULL`
const newest = `ORDER BY assistant_core.place(data -> 'creation') DESC, id LIMIT 20`
/** A page and how many there are, up to as many as a list counts. */
const listed = (where: string, order = newest): string =>
  `SELECT body, (SELECT count(*) FROM (SELECT 1 ${from} ${where} LIMIT 10001) AS counted) ${from} ${where} ${order}`
/** Documents with words that begin so in fields of the doctype, the best first, and how many. */
const searched = (...words: string[]): string => {
  const paths = ['id', 'title', 'customer', 'lead', 'stage', 'notes']
  const begun = words.map((word) => `(${paths.map((path) => `'${path}=${word}':*`).join(' | ')})`)
  const query = `$$${begun.join(' & ')}$$::tsquery`
  return `SELECT body, count(*) OVER () ${from} AND words @@ ${query} ORDER BY ts_rank(words, ${query}) DESC, id LIMIT 20`
}
/** As the indexes of the store have them. */
const won = `AND assistant_core.place(data -> 'stage') = assistant_core.place('"Won"')`
const smallTitle = `lower(((data -> 'title') #>> '{}') COLLATE "und-x-icu") COLLATE "C"`
/** What a Sales User may read: `config/doctypes/opportunity.yaml`. */
const rule = `AND (data ->> 'stage' <> 'Lost' OR data ->> 'owner' = 'sales@example.com')`
const anchors: Record<string, string> = {
  'list newest': listed(''),
  'list, indexed filter': listed(won),
  'list, rule': listed(rule),
  'list, part of a text': listed(`AND ${smallTitle} LIKE '%order 472%'`),
  'page 500': listed('', newest.replace('20', '500')),
  'count, indexed': `SELECT count(*) ${from} ${won}`,
  'count, rule': `SELECT count(*) ${from} ${rule}`,
  'sum by group': `SELECT data ->> 'stage', sum((data ->> 'amount')::numeric) ${from} GROUP BY 1`,
  'search, one found': searched('order', '00472'),
  'search, many found': searched('amber', '47'),
  get: `SELECT body ${from} AND id = decode('004f00500050002d00300030003000300031', 'hex')`,
}

/** The same questions in hand-written SQL, prepared once, over the same client. */
async function ofSql(url: string): Promise<Record<string, Ask>> {
  const client = new Client(url)
  await client.connect()
  return Object.fromEntries(
    Object.entries(anchors).map(([name, text]) => [
      name,
      () => client.query({ name, text, rowMode: 'array' }),
    ]),
  )
}

async function measured(
  asks: Record<string, Ask>,
  { question, times }: Asked,
): Promise<Measured | undefined> {
  if (question === 'memory, MB') {
    global.gc?.()
    return { cpu: process.memoryUsage().rss / 2 ** 20, wall: 0 }
  }
  const ask = asks[question]
  if (!ask) return undefined
  const before = process.cpuUsage()
  const start = performance.now()
  let n = 0
  try {
    do await ask(n++)
    while (n < times && performance.now() - start < momentMilliseconds * (times > 20 ? 4 : 1))
  } catch (error) {
    // What takes too long on so many is refused, which is an answer.
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error
    return { cpu: Infinity, wall: Infinity }
  }
  const { cpu, wall } = since(before, start)
  return { cpu: cpu / n, wall: wall / n }
}

function since(before: NodeJS.CpuUsage, start: number): Measured {
  const { user, system } = process.cpuUsage(before)
  return { cpu: (user + system) / 1000, wall: performance.now() - start }
}
