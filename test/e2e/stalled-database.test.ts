/** A database that stands still: clients are told that the service cannot answer now, and never that they were slow. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { paths } from '../../src/oauth/urls.ts'
import { atEnd, startDaemon } from '../helpers/daemon.ts'
import { inDatabase, noPostgres, startPostgres } from '../helpers/postgres.ts'
import { folders } from '../cli/running-service.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

/** As many as there are connections to read with, and more. */
const calls = 8

describe('a database that stands still', { skip: noPostgres, timeout: 180_000 }, () => {
  it('is told as 503 with Retry-After, whoever waits for it, and never as a body that did not come in time', async (t) => {
    const server = await startPostgres(t)
    const url = await server.newDatabase()
    const daemon = await startDaemon(t, { site: folders(t, inDatabase(t, url)).site })
    const token = await tokenOf(daemon, 'sales@example.com')
    const call = (): Promise<Response> =>
      fetch(daemon.url + paths.mcp, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
    const refresh = (): Promise<Response> =>
      fetch(daemon.url + paths.token, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'none', client_id: 'none' }),
      })
    assert.deepEqual([(await call()).status, (await refresh()).status], [200, 401])

    const client = new Client(url)
    await client.connect()
    atEnd(t, () => client.end())
    await client.query('BEGIN; LOCK TABLE assistant_core.document IN ACCESS EXCLUSIVE MODE')
    const answers = await Promise.all([...Array.from({ length: calls }, call), refresh()])
    const seen = await Promise.all(
      answers.map(async (one) => [one.status, one.headers.has('retry-after'), await one.text()] as const),
    )
    for (const [status, retry, text] of seen) assert.deepEqual([status, retry], [503, true], text)
    await client.query('ROLLBACK')
    assert.deepEqual([(await call()).status, (await refresh()).status], [200, 401])
  })
})
