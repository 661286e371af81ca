/**
 * Acknowledged changes a second, each with its audit event in its transaction, by 1, 16 and 256 writers at once,
 * beside bare appends of 400 bytes with fdatasync by one writer. `node --import tsx bench/audit/writes.ts`
 */
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { openAudit } from '../../src/audit/open-audit.ts'
import { systemClock } from '../../src/core/clock.ts'
import { createLog } from '../../src/core/log.ts'
import { randomId } from '../../src/core/secrets.ts'
import { openEmbeddedStore } from '../../src/store/embedded.ts'

const measureMilliseconds = 4_000
const folder = await mkdtemp(join(tmpdir(), 'assistant-core-bench-'))
const log = createLog('error', process.stderr)
const store = await openEmbeddedStore({ folder, clock: systemClock, log })
const audit = await openAudit({ folder: join(folder, 'audit'), store, clock: systemClock, log })
const documents = store.collection({ name: 'bench.document' })

const bare = await bareAppends()
const rows: Record<string, unknown>[] = [{ writers: 'bare append + fdatasync', 'writes/s': bare, ratio: 1 }]
for (const writers of [1, 16, 256]) {
  const perSecond = await creates(writers)
  rows.push({ writers, 'writes/s': perSecond, ratio: (perSecond / bare).toFixed(2) })
}
console.table(rows)
await audit.close()
await store.close()
await rm(folder, { recursive: true })

async function creates(writers: number): Promise<number> {
  const end = performance.now() + measureMilliseconds
  let count = 0
  const writer = async (): Promise<void> => {
    while (performance.now() < end) {
      const id = randomId()
      await store.transaction(async (transaction) => {
        await transaction.in(documents).insert({ id })
        await audit.recordIn(transaction, {
          type: 'document.create',
          status: 'ok',
          user: 'ann@example.com',
          target: `Task/${id}`,
        })
      })
      count++
    }
  }
  await Promise.all(Array.from({ length: writers }, writer))
  await audit.settled()
  return Math.round((count * 1000) / measureMilliseconds)
}

async function bareAppends(): Promise<number> {
  const file = await open(join(folder, 'bare'), 'w')
  const bytes = Buffer.alloc(400, 'x')
  const end = performance.now() + measureMilliseconds
  let count = 0
  while (performance.now() < end) {
    await file.write(bytes)
    await file.datasync()
    count++
  }
  await file.close()
  return Math.round((count * 1000) / measureMilliseconds)
}
