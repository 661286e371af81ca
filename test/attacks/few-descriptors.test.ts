/** A service that may open few files goes on: it answers while connections take them, and what needs processes is offered. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { withoutSql } from '../../packages/sandbox/test/machine.ts'
import { startDaemon, temporaryFolder } from '../helpers/daemon.ts'
import { tokenOf, textOfCall } from '../helpers/tool-calls.ts'

describe('a daemon that may open 256 files', { skip: withoutSql }, () => {
  it('offers SQL, says so in doctor, and answers while 300 connections come', async (t) => {
    const limiting = join(temporaryFolder(t), 'few.mjs')
    writeFileSync(
      limiting,
      `import { execFileSync } from 'node:child_process'
      if (process.argv.includes('serve'))
        execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=256:256'])`,
    )
    const daemon = await startDaemon(t, { env: { NODE_OPTIONS: `--import ${limiting}` } })
    const token = await tokenOf(daemon, 'admin@example.com')
    const asked = { query: 'SELECT 41 + 1 AS answer' }
    const query = () => textOfCall(daemon, token, 'query_and_analyze', asked)
    assert.match(await query(), /\\"answer\\":42/)
    const { stdout } = await daemon.cli(['doctor'])
    assert.match(stdout, /^ok +analysis\.sql +works$/m)
    const { port } = new URL(daemon.url)
    const idle = Array.from({ length: 300 }, () => connect(Number(port), 'localhost').on('error', () => {}))
    t.after(() => idle.forEach((socket) => socket.destroy()))
    await Promise.all(idle.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])))
    const health = await fetch(`${daemon.url}/healthz`)
    assert.equal(health.status, 200)
    assert.match(await query(), /\\"answer\\":42/)
  })
})
