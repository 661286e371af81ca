import { after, before, describe, it, type TestContext } from 'node:test'
import { noPostgres, startPostgres, type TestPostgres } from '../helpers/postgres.ts'
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from '../../src/store/postgres.ts'
import { storeContract } from './contract.ts'
import { afterwards, testClock, testLog } from './state-folder.ts'

let server: TestPostgres

async function openStore(
  t: TestContext,
  url: string,
  options: Partial<PostgresStoreOptions> = {},
): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock: testClock(), log: testLog(), ...options })
  afterwards(t, () => store.close())
  return store
}

describe('PostgreSQL', { skip: noPostgres }, () => {
  const cleanups: (() => Promise<void> | void)[] = []
  before(async () => {
    server = await startPostgres({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  })
  after(async () => {
    for (const step of cleanups) await step()
  })

  storeContract('PostgreSQL', async (t) => {
    const url = await server.newDatabase()
    const clock = testClock()
    const store = await openStore(t, url, { clock })
    return {
      store,
      advance: (milliseconds) => clock.advance(milliseconds),
      now: () => clock.now(),
      async reopen() {
        await store.close()
        return await openStore(t, url, { clock })
      },
    }
  })

  it('x', () => {})
})
