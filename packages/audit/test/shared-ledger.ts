/** Daemons, as far as their audit log is concerned, on a database of a test's own. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import type { AuditLine } from '#audit/audit.ts'
import { type AuditLog, type AuditOptions, openAudit } from '#audit/open-audit.ts'
import { searchAudit } from '#audit/finding/search.ts'
import { type Clock, systemClock } from '#leaf/clock.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import { isApp } from '../../state/test/contract.ts'
import { afterwards, temporaryFolder, testLog, type TestLog } from '../../state/test/state-folder.ts'

/** A daemon as far as the log is concerned. */
export interface Writer {
  readonly audit: AuditLog
  readonly store: PostgresStore
  readonly folder: string
  readonly log: TestLog
  close(): Promise<void>
}

/** A daemon that is closed after the test. */
export async function startWriter(
  t: TestContext,
  url: string,
  {
    state,
    clock = systemClock,
    ...options
  }: { state?: string; clock?: Clock } & Pick<AuditOptions, 'settings' | 'restored' | 'reserveBytes'> = {},
): Promise<Writer> {
  const home = state ?? (await temporaryFolder(t))
  const log = testLog()
  const store = await openPostgresStore({ url, clock, databaseClock: clock, log })
  const folder = join(home, 'audit')
  const audit = await openAudit({ folder, store, clock: store.clock, log, ...options }).catch(
    async (error: unknown) => {
      await store.close()
      throw error
    },
  )
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await audit.close()
    await store.close()
  }
  afterwards(t, close)
  return { audit, store, folder, log, close }
}

/** What was told, without what the log tells of itself. */
export function isTold({ type }: AuditLine): boolean {
  return !type.startsWith('audit.')
}

/** Somebody answers at a daemon for all that write beside it. */
export async function introduce({ audit, store }: Writer): Promise<void> {
  for (const { id } of await store.ledger.writers())
    await audit.acceptWriter(id, 'ann', 'they are ours').catch((error: unknown) => {
      if (!isApp('not_found')(error)) throw error
    })
}

/** What was told, of those that a filter wants. */
export async function all(audit: AuditLog, filter = {}): Promise<AuditLine[]> {
  const lines: AuditLine[] = []
  for await (const line of searchAudit(audit.place, filter)) if (isTold(line)) lines.push(line)
  return lines
}

/** A client of the database, beside the daemons. */
export async function clientOf(t: TestContext, url: string): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => undefined)
  await client.connect()
  afterwards(t, () => client.end())
  return client
}
