/**
 * What the record of a call costs: processor time of one call of a tool that answers rows at once, with a log that
 * takes nothing, and with the real one that keeps no answer, the shipped size of it, and much of it.
 * `node --import tsx bench/audit/calls.ts`
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import type { Audit } from '#audit/audit.ts'
import { openAudit } from '#audit/open-audit.ts'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import type { Principal } from '../../src/core/principal.ts'
import { Stop } from '#leaf/stop.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import { createCalls } from '../../src/tools/gate/calls.ts'
import { createCatalogue, type CatalogueParts } from '../../src/tools/gate/create-catalogue.ts'
import { defineTool } from '../../src/tools/tool.ts'

const rounds = 9
const callsPerRound = 4000
const folder = await mkdtemp(join(tmpdir(), 'assistant-core-bench-'))
const log = createLog('error', process.stderr)
const store = await openEmbeddedStore({ folder, clock: systemClock, log })
const audit = await openAudit({ folder: join(folder, 'audit'), store, clock: systemClock, log })
const deaf: Audit = {
  record: () => Promise.resolve(),
  recordIn: () => Promise.resolve(),
  requireWritable: () => {},
}

const data = Array.from({ length: 20 }, (_, n) => ({
  name: `CUST-${n}`,
  customer_name: `Customer number ${n}`,
  territory: 'North',
  creation: '2026-07-01T08:00:00.000Z',
  modified: '2026-07-01T08:00:00.000Z',
}))
const rows = defineTool({
  name: 'rows',
  title: 'Rows',
  description: 'Answers rows.',
  category: 'read_only',
  input: { type: 'object', properties: { doctype: { type: 'string' } } },
  run: (_, { principal }) => {
    principal.shown?.note(
      'Customer',
      data.map(({ name }) => name),
    )
    return Promise.resolve({ doctype: 'Customer', data, count: 20, total_count: 200 })
  },
})
const principal: Principal = {
  user: 'ann@example.com',
  fullName: 'Ann',
  roles: new Set(['Assistant User']),
  roleKey: 'Assistant User',
  scopes: ['all'],
  requestId: 'req-1',
  client: { id: 'client-1', name: 'Client' },
}
const kinds: Record<string, { readonly audit: Audit; readonly maxResultBytes: number }> = {
  'a log that takes nothing': { audit: deaf, maxResultBytes: 0 },
  'no answer (0)': { audit, maxResultBytes: 0 },
  'the shipped size (1000)': { audit, maxResultBytes: 1000 },
  'much of it (16384)': { audit, maxResultBytes: 16_384 },
}
const measured = new Map<string, number[]>(Object.keys(kinds).map((kind) => [kind, []]))
// Rounds interleave: a machine that others use changes its pace, and the ratios do not.
for (let round = 0; round < rounds; round++)
  for (const [kind, parts] of Object.entries(kinds)) measured.get(kind)!.push(await microseconds(parts))
const least = (kind: string): number => Math.min(...measured.get(kind)!)
const base = least('a log that takes nothing')
console.table(
  Object.keys(kinds).map((kind) => ({
    'the log keeps': kind,
    'µs of processor a call': Math.round(least(kind)),
    'more than none': Math.round(least(kind) - base),
  })),
)
await audit.close()
await store.close()
await rm(folder, { recursive: true })

async function microseconds({ audit: into, maxResultBytes }: (typeof kinds)[string]): Promise<number> {
  const documents = {
    platform: { confidential: new Set(['salary']) },
  } as unknown as CatalogueParts['documents']
  const catalogue = createCatalogue({
    tools: [rows],
    settings: { settings: new Map(), profiles: [] },
    limits: { timeout_seconds: 60, max_concurrent_per_user: 8, max_result_bytes: 100_000 },
    documents,
    audit: into,
    clock: systemClock,
    log,
    calls: createCalls(),
    maxResultBytes,
  })
  const caller = {
    stop: new Stop(),
    library: undefined as never,
    progress: () => undefined,
    log: () => undefined,
    ask: () => Promise.reject(new Error('nobody')),
    confirm: () => Promise.resolve(undefined),
  }
  const before = process.cpuUsage()
  for (let n = 0; n < callsPerRound; n++) {
    await catalogue.call(principal, 'rows', { doctype: 'Customer' }, caller)
    if (n % 50 === 0) await setImmediate()
  }
  await audit.settled()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / callsPerRound
}
