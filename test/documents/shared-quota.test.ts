/** How much one person may keep where two daemons share a database: counted as one, whoever writes first. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '#leaf/clock.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { fullest } from '../../src/documents/writing/quota.ts'
import { deleteDocument } from '../../src/documents/writing/updating.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import { isApp } from '../../packages/state/test/contract.ts'
import { afterwards } from '../../packages/state/test/state-folder.ts'
import { openCompany, plain, silent } from './trading-company.ts'

describe('what one person keeps on several daemons', { skip: noPostgres, timeout: 120_000 }, () => {
  it('is counted together, and not one document more is kept than is allowed', async (t) => {
    const server = await startPostgres({ after: (close) => afterwards(t, close as () => Promise<void>) })
    const url = await server.newDatabase()
    const quota = { max_documents_per_user: 10, max_bytes_per_user: 0 }
    const { documents: embedded } = await openCompany(t, { seeds: false, quota })
    const daemons: Documents[] = []
    for (let n = 0; n < 2; n++) {
      const store = await openPostgresStore({ url, clock: systemClock, log: silent })
      afterwards(t, () => store.close())
      daemons.push({ ...embedded, store, clock: systemClock, memory: createDocumentMemory() })
    }
    const outcomes = await Promise.allSettled(
      Array.from({ length: 24 }, (_, n) =>
        createDocument(daemons[n % 2]!, plain, 'Note', { title: `note ${n}` }),
      ),
    )
    const made = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value.document] : []))
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
    assert.equal(made.length, 10)
    assert.ok(refused.every(isApp('forbidden')))
    const [kept] = await fullest(daemons[0]!.store, quota, 1)
    assert.deepEqual([kept!.user, kept!.documents, kept!.percent], [plain.user, 10, 100])
    await deleteDocument(daemons[1]!, plain, 'Note', String(made[0]!['name']))
    await createDocument(daemons[0]!, plain, 'Note', { title: 'in its place' })
    await assert.rejects(createDocument(daemons[1]!, plain, 'Note', { title: 'more' }), isApp('forbidden'))
  })
})
