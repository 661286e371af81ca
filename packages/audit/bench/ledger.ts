/**
 * What an event of the log takes on PostgreSQL, in rows and then in segments: bytes on the disk with all indexes, and how long
 * searches, a verification of all and one that goes on take, with the longest time for which the process stood still. The
 * events are calls of a tool that shows twenty documents, and changes. `node --import tsx packages/audit/bench/ledger.ts [EVENTS]`
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import type { AuditEvent } from '#audit/audit.ts'
import { type AuditLog, openAudit } from '#audit/open-audit.ts'
import { searchAudit, tailAudit } from '#audit/finding/search.ts'
import { noPostgres, startPostgres } from '../../../test/helpers/postgres.ts'
import { table } from '../../../bench/server-process.ts'

const count = Number(process.argv[2] ?? 20_000)
const atOnce = 500
if (noPostgres !== undefined) throw new Error(noPostgres)
const steps: (() => unknown)[] = []
try {
  await main()
} finally {
  for (const step of steps.reverse()) await step()
}

async function main(): Promise<void> {
  const server = await startPostgres({ after: (step) => void steps.push(step as () => unknown) })
  const url = await server.newDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'bench-ledger-'))
  steps.push(() => rm(folder, { recursive: true }))
  let late = 0
  const clock = { now: () => systemClock.now() + late }
  const log = createLog('error', process.stderr)
  const store = await openPostgresStore({ url, clock, databaseClock: clock, log })
  steps.push(() => store.close())
  const audit = await openAudit({ folder, store, clock, log })
  steps.push(() => audit.close())
  const client = new Client(url)
  await client.connect()
  steps.push(() => client.end())
  for (let n = 0; n < count; n += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, i) => audit.record(event(n + i))))
  await client.query('VACUUM FULL ANALYZE assistant_core.ledger')
  const rows = await measured(audit, await store.ledger.bytes(), count)
  late = 2 * 86_400_000
  await audit.tidy()
  const { rows: left } = await client.query('SELECT count(*)::int AS left FROM assistant_core.ledger')
  await client.query('VACUUM ANALYZE assistant_core.ledger_segment')
  const text = "SELECT pg_total_relation_size('assistant_core.ledger_segment')::int AS bytes"
  const { rows: size } = await client.query<{ bytes: number }>(text)
  const packed = await measured(audit, size[0]!.bytes, count - (left as { left: number }[])[0]!.left)
  table(
    [`${count} events`, 'in rows', 'in segments'],
    Object.keys(rows).map((name) => [name, rows[name]!, packed[name]!]),
  )
}

async function measured(audit: AuditLog, bytes: number, lines: number): Promise<Record<string, string>> {
  const found: Record<string, string> = { 'bytes an event': String(Math.round(bytes / lines)) }
  const searches = {
    'one request': { request: `request-${Math.floor(count / 3)}-of-the-bench` },
    'what one document went through': { document: 'Customer/CUST-77' },
    'a text in all of it': { text: 'nowhere to be found' },
  }
  for (const [name, filter] of Object.entries(searches))
    found[name] = await timed(async () => {
      for await (const _ of searchAudit(audit.place, filter));
    })
  found['the last ten'] = await timed(async () => void (await tailAudit(audit.place, 10)))
  found['a verification of all'] = await timed(async () => void (await audit.verify()))
  found['a verification that goes on'] = await timed(async () => void (await audit.verifyOn()))
  return found
}

async function timed(work: () => Promise<void>): Promise<string> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  await setTimeout(50)
  delay.enable()
  const begun = performance.now()
  await work()
  const took = performance.now() - begun
  delay.disable()
  return `${Math.round(took)} ms, still for ${Math.round(delay.max / 1e6)} ms`
}

function event(n: number): AuditEvent {
  const user = `user${n % 200}@example.com`
  const common = {
    user,
    client: 'client-of-the-bench',
    request_id: `request-${n}-of-the-bench`,
    status: 'ok',
  } as const
  const names = Array.from({ length: 20 }, (_, i) => `CUST-${(n * 7 + i) % 5_000}`)
  if (n % 10 > 0)
    return {
      ...common,
      type: 'tool.call',
      target: 'list_documents',
      session_id: `session-${n % 500}`,
      execution_time: n % 90,
      success: true,
      documents: [{ doctype: 'Customer', count: 20, names }],
      data: { doctype: 'Customer', limit: 20, territory: 'North' },
    }
  const changes = [
    { field: 'territory', from: 'North', to: `South ${n % 17}` },
  ] as unknown as AuditEvent['changes']
  return {
    ...common,
    type: 'document.update',
    target: `Customer/CUST-${n % 5_000}`,
    ...(changes && { changes }),
  }
}
