import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import process from 'node:process'
import { verifyStore } from '#state/verify.ts'
import { accountCount, accounts, firstBalance, receipts, totals } from './crash-data.ts'
import { openStore, temporaryFolder, testLog } from './state-folder.ts'

// More in a soak: CRASH_KILLS=2000 node --import tsx --test packages/state/test/crash.test.ts
const kills = Number(process.env['CRASH_KILLS'] ?? 200)
const lanes = 2
// A machine that is busy with other things has done enough after this time.
const enoughMilliseconds = 120_000
const leastKills = 20
const child = join(import.meta.dirname, 'crash-child.ts')

describe('the embedded store, killed at any moment', () => {
  const timeout = 60_000 + kills * 5_000
  it(
    'loses nothing acknowledged, keeps no half of a transaction, and opens every time',
    { timeout },
    async (t) => {
      const facts = await Promise.all(
        Array.from({ length: lanes }, () => killAgainAndAgain(t, kills / lanes)),
      )
      for (const { done, transactions, compactions } of facts) {
        // Each run is killed only after it has acknowledged something.
        assert.ok(transactions >= done, `only ${transactions} transactions in ${done} runs`)
        assert.ok(compactions > done / 4, `only ${compactions} compactions in ${done} runs`)
      }
      t.diagnostic(JSON.stringify(facts))
    },
  )
})

async function killAgainAndAgain(
  t: TestContext,
  times: number,
): Promise<{ done: number; transactions: number; compactions: number; torn: number }> {
  const folder = await temporaryFolder(t)
  let next = 0
  let torn = 0
  let compactions = 0
  let kill = 0
  const end = performance.now() + enoughMilliseconds
  for (; kill < times && (kill < leastKills || performance.now() < end); kill++) {
    const acknowledged = await runUntilKilled(folder, next, Math.random() * 60)
    assert.deepEqual((await verifyStore(folder)).faults, [], `after kill ${kill}`)
    const log = testLog()
    const store = await openStore(t, folder, { log })
    torn += log.lines.filter(({ message }) => message.includes('not finished')).length
    const ids = new Set((await store.collection(receipts).find()).map(({ id }) => id))
    for (const number of acknowledged) assert.ok(ids.has(`r${number}`), `kill ${kill} lost receipt ${number}`)
    const all = await store.collection(accounts).find()
    const sum = all.reduce((total, { amount }) => total + amount, 0)
    assert.equal(sum, all.length * firstBalance)
    assert.ok(all.length === 0 || all.length === accountCount)
    assert.equal((await store.collection(totals).get('receipts'))?.count ?? 0, ids.size)
    next = Math.max(next, ...[...ids].map((id) => Number(id.slice(1)) + 1))
    // Keep the state small, so that starting does not take most of the time.
    await store.transaction(async (transaction) => {
      for (const id of ids) await transaction.in(store.collection(receipts)).delete(id)
      await transaction.in(store.collection(totals)).update('receipts', (total) => ({ ...total, count: 0 }))
    })
    await store.close()
    const segments = (await readdir(folder)).map((name) => Number(/journal-(\d+)/.exec(name)?.[1] ?? 0))
    compactions = Math.max(...segments)
  }
  return { done: kill, transactions: next, compactions, torn }
}

/** Runs the child, kills it some time after its first acknowledgement, and answers what it acknowledged. */
async function runUntilKilled(folder: string, first: number, milliseconds: number): Promise<number[]> {
  const process_ = spawn(process.execPath, ['--import', 'tsx', child, folder, String(first)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let complaint = ''
  process_.stdout.on('data', (chunk: Buffer) => {
    if (said === '') setTimeout(() => process_.kill('SIGKILL'), milliseconds)
    said += chunk.toString()
  })
  process_.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
  const [code, signal] = (await once(process_, 'close')) as [number | null, string | null]
  assert.equal(signal, 'SIGKILL', `the child ended by itself with ${String(code)}: ${complaint}`)
  // Only whole lines were said.
  return said
    .slice(0, said.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map(Number)
}
