/** Series that may have gaps: what daemons of one database take of the counter, and when they wait for each other. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { collectionFor, type Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import { isApp } from '../../packages/state/test/contract.ts'
import { afterwards } from '../../packages/state/test/state-folder.ts'
import { openCompany, silent, siteOf, someone } from './trading-company.ts'

const clerk = someone('clerk@example.com', 'Clerk')
const doctype = (name: string, naming: string): string => `
doctype: ${name}
naming: ${naming}
fields: [{ fieldname: title, type: text, required: true }]
permissions: [{ role: Clerk, actions: [read, write, create] }]`
const files = siteOf({
  'config/doctypes/lead.yaml': doctype('Lead', '{ rule: series, series: "LEAD-###", gaps: true }'),
  'config/doctypes/bill.yaml': doctype('Bill', '{ rule: series, series: "BILL-###" }'),
})

async function make(documents: Documents, type = 'Lead', options = {}): Promise<string> {
  const { document } = await createDocument(documents, clerk, type, { title: 'one' }, options)
  return String(document['name'])
}

describe('a series that may have gaps', () => {
  it('counts on in one service, whatever is refused or only tried', async (t) => {
    const { documents } = await openCompany(t, { files, seeds: false })
    assert.deepEqual([await make(documents), await make(documents)], ['LEAD-001', 'LEAD-002'])
    await assert.rejects(createDocument(documents, clerk, 'Lead', {}), isApp('invalid'))
    assert.equal(await make(documents, 'Lead', { dryRun: true }), 'LEAD-###')
    assert.equal(await make(documents), 'LEAD-003')
    assert.deepEqual([await make(documents, 'Bill'), await make(documents, 'Bill')], ['BILL-001', 'BILL-002'])
    const many = await Promise.all(Array.from({ length: 120 }, () => make(documents)))
    assert.equal(new Set(many).size, 120)
    assert.ok(many.includes('LEAD-123'))
  })

  it('goes on behind what was taken where the names of a block are used already', async (t) => {
    const { documents } = await openCompany(t, { files, seeds: false })
    await make(documents)
    const leads = collectionFor(documents, documents.platform.doctypes.get('Lead')!)
    const bill = await make(documents, 'Bill')
    assert.equal(bill, 'BILL-001')
    const first = (await leads.get('LEAD-001'))!
    await leads.insert({ ...first, id: 'LEAD-002' })
    assert.equal(await make(documents), 'LEAD-051')
    assert.equal(await make(documents), 'LEAD-003')
  })

  it(
    'waits on several daemons for nobody who holds its counter, and gives no name twice',
    { skip: noPostgres },
    async (t) => {
      const server = await startPostgres({ after: (close) => afterwards(t, close as () => Promise<void>) })
      const url = await server.newDatabase()
      const { documents: embedded } = await openCompany(t, { files, seeds: false })
      const daemons: Documents[] = []
      for (let n = 0; n < 2; n++) {
        const store = await openPostgresStore({ url, clock: systemClock, log: silent })
        afterwards(t, () => store.close())
        daemons.push({ ...embedded, store, clock: systemClock, memory: createDocumentMemory() })
      }
      assert.deepEqual([await make(daemons[0]!), await make(daemons[1]!)], ['LEAD-001', 'LEAD-051'])
      const client = new Client(url)
      await client.connect()
      afterwards(t, () => client.end())
      await client.query(
        "BEGIN; SELECT FROM assistant_core.document WHERE collection = 'platform.series' FOR UPDATE",
      )
      const names = await Promise.all(Array.from({ length: 40 }, (_, n) => make(daemons[n % 2]!)))
      assert.equal(new Set(names).size, 40)
      await client.query('COMMIT')
      const more = await Promise.all(Array.from({ length: 120 }, (_, n) => make(daemons[n % 2]!)))
      assert.equal(new Set([...names, ...more]).size, 160)
    },
  )

  it('is what the file of the doctype says, and nothing else can have gaps', async (t) => {
    const { platform } = await openCompany(t, { files, seeds: false })
    assert.deepEqual(platform.doctypes.get('Lead')?.naming, {
      rule: 'series',
      series: 'LEAD-###',
      gaps: true,
    })
    assert.deepEqual(platform.doctypes.get('Bill')?.naming, {
      rule: 'series',
      series: 'BILL-###',
      gaps: false,
    })
    const wrong = siteOf({ 'config/doctypes/lead.yaml': doctype('Lead', '{ rule: hash, gaps: true }') })
    await assert.rejects(openCompany(t, { files: wrong, seeds: false }), /"gaps" is for a series/)
  })
})
