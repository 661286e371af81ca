/** An operator's session holds a row of the database, as psql does that was left open: it must not stop the daemon's writes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { operate } from '../../src/cli/control.ts'
import { commandLineClient } from '../../src/oauth/clients/clients.ts'
import { paths } from '../../src/oauth/urls.ts'
import { folders, runService } from '../cli/running-service.ts'
import { atEnd } from '../helpers/daemon.ts'
import { inDatabase, noPostgres, suitePostgres } from '../helpers/postgres.ts'
import { textOfCall } from '../helpers/tool-calls.ts'

const held = "BEGIN; SELECT FROM assistant_core.document WHERE collection = 'platform.series' FOR UPDATE"

describe('a row that somebody holds in the database', { skip: noPostgres, timeout: 120_000 }, () => {
  const server = suitePostgres()

  it('keeps waiting who writes it, and nobody else at the daemon: documents, tokens and refreshes go on', async (t) => {
    const url = await server.newDatabase()
    const service = await runService(t, folders(t, inDatabase(t, url)))
    const issue = async () =>
      (await operate(service.options, 'tokens.issue', { user: 'sales@example.com' })) as {
        access_token: string
        refresh_token: string
      }
    const { access_token: token, refresh_token } = await issue()
    const create = (doctype: string, data: object) =>
      textOfCall(service, token, 'create_document', { doctype, data })
    const task = { subject: 'Call them back' }
    assert.match(await create('Task', task), /TASK-/)

    const holder = new Client(url)
    await holder.connect()
    atEnd(t, () => holder.end())
    await holder.query(held)
    let waiting = 3
    const stuck = Array.from({ length: waiting }, () => create('Task', task).finally(() => waiting--))
    for (let n = 0; n < 12; n++) assert.match(await create('Note', { title: 'Beside' }), /"isError":false/)
    await issue()
    const refreshed = await fetch(service.url + paths.token, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token,
        client_id: commandLineClient.id,
      }),
    })
    assert.equal(refreshed.status, 200, await refreshed.text())
    assert.equal(waiting, 3)
    await holder.query('ROLLBACK')
    assert.equal(new Set((await Promise.all(stuck)).map((text) => /TASK-\d+/.exec(text)?.[0])).size, 3)
  })
})
