/** Stores in PostgreSQL for the tests of the store. */
import type { TestContext } from 'node:test'
import { systemClock } from '#leaf/clock.ts'
import type { PostgresStoreOptions } from '#state/postgres/servers/options.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import { afterwards, testLog } from './state-folder.ts'

/** A store in a database that is closed after the test; a clock that is given is the database's as well. */
export async function openPostgres(
  t: TestContext,
  url: string,
  { clock, ...more }: Partial<PostgresStoreOptions> = {},
): Promise<PostgresStore> {
  const clocks = clock ? { clock, databaseClock: clock } : { clock: systemClock }
  const store = await openPostgresStore({ url, log: testLog(), ...clocks, ...more })
  afterwards(t, () => store.close())
  return store
}
