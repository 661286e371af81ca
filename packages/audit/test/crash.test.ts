import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { listLogFiles } from '#audit/files/log-files.ts'
import { verifyAudit } from '#audit/verifying/verify.ts'
import { temporaryFolder } from '../../state/test/state-folder.ts'
import { linesOf, startAudit } from './audit-folder.ts'

const kills = Number(process.env['CRASH_KILLS'] ?? 25)
const child = join(import.meta.dirname, 'crash-child.ts')

describe('the audit log, killed at any moment', () => {
  const timeout = 60_000 + kills * 10_000
  it('has what was acknowledged, and each change of the state exactly once', { timeout }, async (t) => {
    const state = await temporaryFolder(t)
    const folder = join(state, 'audit')
    const acknowledged = new Set<string>()
    let replayed = 0
    for (let kill = 0; kill < kills; kill++) {
      const lines = await runUntilKilled(state, acknowledged.size * 10, Math.random() * 80)
      for (const id of lines) acknowledged.add(id)
      assert.deepEqual((await verifyAudit(folder)).faults, [], `after kill ${kill}`)
      const before = (await linesOf(folder)).length
      const { audit, store } = await startAudit(t, { max_file_bytes: 4000 }, state)
      const told = await linesOf(folder)
      replayed += told.slice(before).filter(({ type }) => type === 'document.create').length
      const targets = told.map(({ target }) => target).filter((target) => target !== undefined)
      assert.equal(new Set(targets).size, targets.length, 'no event stands there twice')
      for (const id of acknowledged) assert.ok(targets.includes(id), `kill ${kill} lost ${id}`)
      const documents = await store.collection({ name: 'test.note' }).find()
      assert.deepEqual(
        new Set(documents.map(({ id }) => id)),
        new Set(targets.filter((target) => target.startsWith('d'))),
      )
      assert.equal(store.stats().documents['audit.outbox'], 0)
      assert.deepEqual((await audit.verify()).faults, [])
      await audit.close()
      await store.close()
    }
    assert.ok(acknowledged.size > kills)
    assert.ok((await listLogFiles(folder)).length > 3)
    t.diagnostic(`${kills} kills, ${acknowledged.size} acknowledged, ${replayed} replayed from the state`)
  })
})

async function runUntilKilled(state: string, first: number, milliseconds: number): Promise<string[]> {
  const started = spawn(process.execPath, ['--import', 'tsx', child, state, String(first)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let complaint = ''
  started.stdout.on('data', (chunk: Buffer) => {
    if (said === '') setTimeout(() => started.kill('SIGKILL'), milliseconds)
    said += chunk.toString()
  })
  started.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
  const [code, signal] = (await once(started, 'close')) as [number | null, string | null]
  assert.equal(signal, 'SIGKILL', `the child ended by itself with ${String(code)}: ${complaint}`)
  return said
    .slice(0, said.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
}
