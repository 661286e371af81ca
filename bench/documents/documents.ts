/**
 * 100 000 documents under permission rules: how long a list, a count, an aggregate, a search and a write
 * take, for someone who may read everything and for someone who may read a part by a row condition.
 *
 *   node --import tsx bench/documents/documents.ts [documents]
 */
import { updateDocument } from '../../src/documents/updating.ts'
import { searchDocuments, suggestLinks } from '../../src/documents/searching.ts'
import { getDocument, listDocuments } from '../../src/documents/reading.ts'
import { aggregateDocuments, countDocuments } from '../../src/documents/aggregating.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { type Principal, roleKeyOf } from '../../src/core/principal.ts'

import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { readPlatform } from '../../src/documents/read-platform.ts'
import { noSql } from '../../src/documents/run-sql.ts'
import { readSite } from '../../src/site/read-site.ts'
import { openEmbeddedStore } from '../../src/store/embedded.ts'
import { readPeople } from '../../src/users/read-people.ts'

const count = Number(process.argv[2] ?? 100_000)
const folder = await mkdtemp(join(tmpdir(), 'documents-bench-'))
const store = await openEmbeddedStore({
  folder,
  clock: systemClock,
  log: createLog('silent', process.stderr),
})
try {
  const files = await readSite(join(import.meta.dirname, '../..'))
  const platform = readPlatform(files, [], readPeople(files, []))
  const audit = {
    record: async () => undefined,
    recordIn: async () => undefined,
    requireWritable: () => undefined,
  }
  const memory = createDocumentMemory()
  const documents: Documents = { platform, store, audit, clock: systemClock, memory, runSql: noSql }
  await fill(documents)
  console.log(`${count} opportunities; milliseconds, median and worst of 20`)
  for (const who of [
    someone('boss@example.com', 'Sales Manager'),
    someone('sales@example.com', 'Sales User'),
  ])
    await measureAll(documents, who)
} finally {
  await store.close()
  await rm(folder, { recursive: true, force: true })
}

async function measureAll(documents: Documents, who: Principal): Promise<void> {
  const doctype = 'Opportunity'
  console.log(`\n${[...who.roles].join(', ')}`)
  await measure('first search (builds the index)', 1, () =>
    searchDocuments(documents, who, { doctype, words: 'amber', limit: 20 }),
  )
  await measure('list, newest first', 20, () => listDocuments(documents, who, { doctype }))
  await measure('list, deep page, other order', 20, () =>
    listDocuments(documents, who, { doctype, orderBy: 'amount desc', offset: 10_000, limit: 100 }),
  )
  await measure('list, indexed filter', 20, () =>
    listDocuments(documents, who, { doctype, filters: { stage: 'Won' } }),
  )
  await measure('list, like', 20, () =>
    listDocuments(documents, who, { doctype, filters: { title: ['like', '%amber%'] } }),
  )
  await measure('count', 20, () => countDocuments(documents, who, doctype, { amount: ['>', 50_000] }))
  await measure('aggregate by month and stage', 20, () =>
    aggregateDocuments(documents, who, {
      doctype,
      groupBy: ['expected_close:month', 'stage'],
      metrics: [{ function: 'count' }, { function: 'sum', field: 'weighted_amount' }],
    }),
  )
  await measure('search, common word', 20, () =>
    searchDocuments(documents, who, { doctype, words: 'amber', limit: 20 }),
  )
  await measure('search, rare words', 20, () =>
    searchDocuments(documents, who, { doctype, words: 'amber tender 4711', limit: 20 }),
  )
  await measure('link suggestions', 20, () =>
    suggestLinks(documents, who, { doctype, typed: 'opp-0471', limit: 20 }),
  )
  await measure('get', 20, () => getDocument(documents, who, doctype, 'OPP-00001'))
  await measure('update', 20, (n) => updateDocument(documents, who, doctype, 'OPP-00001', { amount: n }))
}

async function measure(name: string, times: number, run: (n: number) => Promise<unknown>): Promise<void> {
  const taken: number[] = []
  for (let n = 0; n < times; n++) {
    const start = performance.now()
    await run(n)
    taken.push(performance.now() - start)
  }
  taken.sort((a, b) => a - b)
  const [median, worst] = [taken[taken.length >> 1]!, taken.at(-1)!]
  console.log(`${name.padEnd(34)} ${median.toFixed(1).padStart(8)} ${worst.toFixed(1).padStart(8)}`)
}

async function fill(documents: Documents): Promise<void> {
  const words = ['amber', 'basalt', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'heath']
  const kinds = ['order', 'contract', 'refit', 'tender', 'pilot']
  const stages = ['Prospecting', 'Proposal', 'Negotiation', 'Won', 'Lost']
  const opportunities = collectionFor(documents, documents.platform.doctypes.get('Opportunity')!)
  for (let from = 0; from < count; from += 5000)
    await documents.store.transaction(async (tx) => {
      for (let n = from; n < Math.min(count, from + 5000); n++) {
        const time = new Date(Date.UTC(2025, 0, 1) + n * 300_000).toISOString()
        const amount = (n * 7919) % 100_000
        const probability = (n * 13) % 101
        await tx.in(opportunities).insert({
          id: `OPP-${String(n).padStart(5, '0')}`,
          owner: n % 3 === 0 ? 'sales@example.com' : 'boss@example.com',
          creation: time,
          modified: time,
          modified_by: 'boss@example.com',
          docstatus: 0,
          title: `${words[n % 8]!} ${kinds[n % 5]!} ${n}`,
          customer: null,
          lead: 'LEAD-00001',
          stage: stages[(n * 3) % 5]!,
          amount,
          probability,
          weighted_amount: (amount * probability) / 100,
          expected_close: new Date(Date.UTC(2026, 0, 1) + (n % 365) * 86_400_000).toISOString().slice(0, 10),
          notes: null,
        })
      }
    })
}

function someone(user: string, ...names: string[]): Principal {
  const roles = new Set(names)
  return { user, fullName: user, roles, roleKey: roleKeyOf(roles), scopes: [], requestId: 'bench' }
}
