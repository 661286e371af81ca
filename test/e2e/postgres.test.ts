/** Two daemons, each with a state folder of its own, over one database: to their peers they are one service. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { createLog } from '#leaf/log.ts'
import { sha256 } from '#leaf/secrets.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { signForEachOther, startDaemon, temporaryFolder, type RunningDaemon } from '../helpers/daemon.ts'
import type { CopyReport } from '#state/copy.ts'
import { addressFile, inDatabase, noPostgres, suitePostgres, type TestPostgres } from '../helpers/postgres.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { folders, noPython } from '../cli/running-service.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const mcpPath = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'
const person = { username: 'sales@example.com', password: 'correct horse battery staple' }

let server: TestPostgres

describe('two daemons on one database', { skip: noPostgres, timeout: 600_000 }, () => {
  server = suitePostgres()

  it('are one service: tokens, sign-ins, documents and revocations hold on both at once', async (t) => {
    const site = await siteOn(t)
    const [one, two] = await Promise.all([startDaemon(t, { site }), startDaemon(t, { site })])

    const token = await tokenOf(one, person.username)
    for (const daemon of [one, two]) assert.equal((await post(daemon, token, 'tools/list', {})).status, 200)

    const created = await call(one, token, 'create_document', {
      doctype: 'Task',
      data: { subject: 'Recalibrate the zymurgical flux' },
    })
    const name = String(created.name)
    const listed = await call(two, token, 'list_documents', { doctype: 'Task', filters: { name } })
    assert.equal(listed.total_count, 1)
    const search = async (daemon: RunningDaemon, query: string): Promise<string> =>
      JSON.stringify(await call(daemon, token, 'search_documents', { query }))
    assert.ok((await search(two, 'zymurgical')).includes(name))
    await call(two, token, 'update_document', {
      doctype: 'Task',
      name,
      data: { subject: 'Quiesce the gribbler' },
    })
    assert.ok((await search(one, 'gribbler')).includes(name))
    assert.ok(!(await search(one, 'zymurgical')).includes(name))

    await done(one, ['users', 'passwd', person.username, '--password-stdin'], `${person.password}\n`)
    const cookie = await signIn(one)
    const home = await fetch(`${two.url}/connected-apps`, { headers: { cookie }, redirect: 'manual' })
    assert.equal(home.status, 200, 'a session of one is a session of the other')

    // A stream that the token opened ends too, wherever it was opened.
    const stream = await openStream(two, token)
    await done(one, ['tokens', 'revoke', '--user', person.username])
    for (const daemon of [two, one]) assert.equal((await post(daemon, token, 'tools/list', {})).status, 401)
    await stream.ended

    const status = JSON.parse(await done(two, ['status', '--json'])) as { state: { kind: string } }
    assert.equal(status.state.kind, 'postgres')
    await signForEachOther([one, two])
    for (const daemon of [one, two]) {
      const verified = await daemon.cli(['audit', 'verify', '--json'])
      assert.equal(verified.code, 0, verified.stderr)
      assert.equal(await daemon.stop(), 0)
    }
  })

  it('end a stream whose revocation was not heard, and no other because a role that may only connect says so', async (t) => {
    const site = await siteOn(t)
    const daemon = await startDaemon(t, { site })
    const url = readFileSync(addressFile(site))
    const database = new Client({ connectionString: url.toString().trim() })
    await database.connect()
    t.after(() => database.end())
    const issue = async (): Promise<string> => {
      const args = ['tokens', 'issue', '--user', person.username, '--json']
      return (JSON.parse(await done(daemon, args)) as { access_token: string }).access_token
    }
    const [one, two] = [await issue(), await issue()]
    const [ended, open] = [await openStream(daemon, one), await openStream(daemon, two)]
    let isOver = false
    // The daemon's end cuts it.
    open.ended.then(
      () => (isOver = true),
      () => undefined,
    )
    // What a daemon writes whose announcement is lost.
    const { rowCount } = await database.query(
      `UPDATE assistant_core.document SET body = replace(body, '"status":"Active"', '"status":"Revoked"')
        WHERE collection = 'oauth.token' AND body LIKE $1`,
      [`%${sha256(one)}%`],
    )
    assert.equal(rowCount, 1)
    await database.query('CREATE ROLE passer_by')
    await database.query('SET ROLE passer_by')
    await database.query("NOTIFY assistant_core, 'tokens.revoked *'")
    await ended.ended
    await wait(200)
    assert.equal(isOver, false)
    const metrics = await done(daemon, ['metrics'])
    assert.match(metrics, /store_unproven_announcements 1\n/)
  })

  it('begin a new database together: one makes the first documents and keys', async (t) => {
    const site = await siteOn(t)
    const daemons = await Promise.all([
      startDaemon(t, { site }),
      startDaemon(t, { site }),
      startDaemon(t, { site }),
    ])
    const counts = await Promise.all(
      daemons.map(async (daemon) => {
        const token = await tokenOf(daemon, person.username)
        const { total_count: count } = await call(daemon, token, 'list_documents', { doctype: 'Customer' })
        return count as number
      }),
    )
    assert.ok(counts[0]! > 3)
    assert.equal(new Set(counts).size, 1)
  })

  it('and commands without a daemon work on the same state', async (t) => {
    const site = await siteOn(t)
    const daemon = await startDaemon(t, { site })
    const other = join(temporaryFolder(t), 'state')
    const issued = await daemon.cli([
      'tokens',
      'issue',
      '--user',
      person.username,
      '--json',
      '--state',
      other,
    ])
    assert.equal(issued.code, 0, issued.stderr)
    const { access_token: token } = JSON.parse(issued.stdout) as { access_token: string }
    assert.equal((await post(daemon, token, 'tools/list', {})).status, 200)
  })

  it('move in from the state folder and out again, with everything that anybody was given', async (t) => {
    const site = await siteOn(t)
    const settings = join(site, 'config/settings.yaml')
    const keep = (kind: 'embedded' | 'postgres'): void =>
      writeFileSync(
        settings,
        readFileSync(settings, 'utf8').replace(/  kind: (embedded|postgres)/, `  kind: ${kind}`),
      )
    keep('embedded')
    let daemon = await startDaemon(t, { site })
    const { state } = daemon
    const token = await tokenOf(daemon, person.username)
    const running = await daemon.cli(['store', 'copy', '--to', 'postgres'])
    assert.equal(running.code, 1)
    assert.match(running.stderr, /in use/)
    await daemon.stop()

    const hasty = await startDaemon(t, { site: await siteOn(t), state })
    assert.match(hasty.output().stdout, /the state folder holds a state that is not used/)
    await hasty.stop()
    const before = JSON.parse(await done(daemon, ['store', 'verify', '--json'])) as { documents: object }
    const copied = JSON.parse(
      await done(daemon, ['store', 'copy', '--to', 'postgres', '--json']),
    ) as CopyReport
    assert.deepEqual(
      Object.fromEntries(copied.collections.map(({ collection, documents }) => [collection, documents])),
      Object.fromEntries(Object.entries(before.documents).filter(([, count]) => count > 0)),
    )
    const again = await daemon.cli(['store', 'copy', '--to', 'postgres'])
    assert.equal(again.code, 1)
    assert.match(again.stderr, /holds a state already/)

    keep('postgres')
    daemon = await startDaemon(t, { site, state })
    assert.equal((await post(daemon, token, 'tools/list', {})).status, 200)
    const created = await call(daemon, token, 'create_document', {
      doctype: 'Task',
      data: { subject: 'Away' },
    })
    const backup = join(temporaryFolder(t), 'state.backup')
    await done(daemon, ['backup', backup])
    assert.match((await daemon.cli(['store', 'copy', '--to', 'embedded'])).stderr, /in use/)
    const database = new URL(readFileSync(addressFile(site), 'utf8')).pathname.slice(1)
    const open = await done(daemon, ['doctor', '--json'])
    assert.match(open, /"state.database"[^}]*records/)
    // What PostgreSQL does by itself: whoever connects can announce, and take connections and locks.
    assert.match(
      open,
      /"state.connect"[^}]*"warning"[^}]*every role of its server may connect to the database/,
    )
    assert.match(
      open,
      /"state.connections"[^}]*"ok"[^}]*1 daemons may hold 9 of the \d+ connections that the server gives/,
    )
    assert.match(open, /"audit.holds"[^}]*\d+ bytes an event/)
    await server.admin.query(`REVOKE CONNECT ON DATABASE "${database}" FROM PUBLIC`)
    assert.match(
      await done(daemon, ['doctor', '--json']),
      /"state.connect"[^}]*only roles that were given it/,
    )
    await daemon.stop()
    assert.match(await done(daemon, ['store', 'verify']), /^whole: /)
    assert.match(await done(daemon, ['store', 'migrate', '--dry-run']), /nothing to do/)
    assert.match((await daemon.cli(['restore', backup, '--move-aside'])).stderr, /holds a state already/)

    // The folder holds the state of before still: it is not overwritten.
    assert.match((await daemon.cli(['store', 'copy', '--to', 'embedded'])).stderr, /holds a state already/)
    for (const name of ['snapshot.jsonl', 'journal-00000001.jsonl']) rmSync(join(state, name))
    assert.match(await done(daemon, ['store', 'copy', '--to', 'embedded']), /oauth\.token +1 +[0-9a-f]{64}/)
    keep('embedded')
    daemon = await startDaemon(t, { site, state })
    const read = await call(daemon, token, 'get_document', { doctype: 'Task', name: String(created.name) })
    assert.equal(read.data.subject, 'Away')
    await done(daemon, ['audit', 'verify'])
    await daemon.stop()

    // The backup of the one kind is a backup of the other.
    const elsewhere = join(temporaryFolder(t), 'state')
    mkdirSync(join(elsewhere, 'secrets'), { recursive: true, mode: 0o700 })
    writeFileSync(join(elsewhere, 'secrets/database-url'), await server.newDatabase(), { mode: 0o600 })
    writeFileSync(
      settings,
      readFileSync(settings, 'utf8').replace(/secrets_folder: .*/, 'secrets_folder: null'),
    )
    keep('postgres')
    await done(daemon, ['restore', backup, '--state', elsewhere])
    daemon = await startDaemon(t, { site, state: elsewhere })
    assert.equal((await post(daemon, token, 'tools/list', {})).status, 200)
    const verified = await done(daemon, ['audit', 'verify'])
    assert.match(
      verified,
      /^whole: .*note: .*this log begins at the restore, .* of the backup state\.backup/s,
    )
  })

  it('serve and write 200,000 documents while their indexes are built, and tell how many are still to come', async (t) => {
    const site = await siteOn(t)
    const url = readFileSync(addressFile(site), 'utf8').trim()
    const client = new Client(url)
    await client.connect()
    t.after(() => client.end())
    // Documents as `store copy` leaves them: none of their indexes is there yet.
    const log = createLog('silent', process.stderr)
    const store = await openPostgresStore({ url, clock: systemClock, log })
    await store.collection({ name: 'document.task' }).delete('none')
    await store.close()
    await client.query(manyTasks)
    // An index that is built beside the work waits for everybody who was there before.
    await client.query(
      "BEGIN; UPDATE assistant_core.document SET body = body WHERE collection = 'document.task' AND id = ''; SELECT txid_current()",
    )
    const daemon = await startDaemon(t, { site })
    const token = await tokenOf(daemon, person.username)
    const building = async (): Promise<number> => {
      const answer = await fetch(`${daemon.url}/readyz`)
      const { checks } = (await answer.json()) as { checks: { name: string; detail: string }[] }
      const { detail } = checks.find(({ name }) => name === 'store')!
      const [, left = '0'] = /^can be written(?:; (\d+) indexes are being built)?$/.exec(detail)!
      return Number(left)
    }
    let written = 0
    const write = async (): Promise<void> => {
      const data = { subject: `Beside ${++written}` }
      const { name } = await call(daemon, token, 'create_document', { doctype: 'Task', data })
      await call(daemon, token, 'update_document', { doctype: 'Task', name, data: { priority: 'High' } })
    }
    // Indexes of other tables are built before; the one of the held row waits.
    await until(async () => {
      const { rowCount } = await client.query(
        "SELECT 1 FROM pg_locks WHERE locktype = 'virtualxid' AND NOT granted",
      )
      return rowCount === 1
    })
    const wanted = await building()
    assert.ok(wanted > 0)
    for (let n = 0; n < 5; n++) await write()
    assert.equal(await building(), wanted)
    assert.match(
      await done(daemon, ['status']),
      new RegExp(`^state .*, ${wanted} indexes are being built$`, 'm'),
    )
    const { state } = JSON.parse(await done(daemon, ['status', '--json'])) as { state: { building: number } }
    assert.equal(state.building, wanted)

    await client.query('COMMIT')
    const seen = new Set<number>()
    do {
      await write()
      seen.add(await building())
    } while (!seen.has(0))
    assert.ok(seen.size > 2, `fewer and fewer are left: ${[...seen].join()}`)
    const filters = { subject: ['like', 'Beside%'], priority: 'High' }
    const listed = await call(daemon, token, 'list_documents', { doctype: 'Task', filters, limit: 1 })
    assert.equal(listed.total_count, written)
    assert.doesNotMatch(await done(daemon, ['status']), /being built/)
  })

  it('refuse to start without the database, and say why without the password', async (t) => {
    const site = await siteOn(t)
    writeFileSync(addressFile(site), 'postgresql://postgres:hunter2@127.0.0.1:1/none')
    await assert.rejects(startDaemon(t, { site }), (error: Error) => {
      assert.match(error.message, /the state is not available: the database cannot be reached/)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })
  })
})

/** Tasks of somebody else, made by the database itself. */
const manyTasks = `INSERT INTO assistant_core.document (collection, id, body)
  SELECT 'document.task', decode(regexp_replace(encode(convert_to('MANY-' || n, 'UTF8'), 'hex'), '(..)', '00\\1', 'g'), 'hex'),
    json_build_object('id', 'MANY-' || n, 'owner', 'boss@example.com', 'modified_by', 'boss@example.com', 'docstatus', 0,
      'creation', '2026-01-01T00:00:00.000Z', 'modified', '2026-01-01T00:00:00.000Z',
      'subject', 'Many')::text
  FROM generate_series(1, 200000) AS n`

/** A copy of the shipped site whose state is a new database. */
async function siteOn(t: TestContext): Promise<string> {
  // What is computed in other processes is not what this is about.
  return folders(t, [...inDatabase(t, await server.newDatabase()), noPython]).site
}

async function done(daemon: RunningDaemon, args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await daemon.cli(args, input)
  assert.equal(code, 0, stderr)
  return stdout
}

function post(daemon: RunningDaemon, token: string, method: string, params: object): Promise<Response> {
  return fetch(daemon.url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

async function call(daemon: RunningDaemon, token: string, name: string, args: object): Promise<any> {
  const response = await post(daemon, token, 'tools/call', { name, arguments: args })
  const { result } = (await response.json()) as { result: { isError?: boolean; content: { text: string }[] } }
  assert.ok(!result.isError, JSON.stringify(result))
  return JSON.parse(result.content[0]!.text) as unknown
}

/** Signs in with a password and answers the cookies. */
async function signIn(daemon: RunningDaemon): Promise<string> {
  const page = await fetch(`${daemon.url}/sign-in`)
  const cookies = (response: Response): string =>
    response.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ')
  const fields = new URLSearchParams(person)
  for (const [input] of (await page.text()).matchAll(/<input\b[^>]*type="?hidden"?[^>]*>/gi))
    fields.set(/name="?([^"\s>]+)/.exec(input)![1]!, /value="?([^"\s>]*)/.exec(input)?.[1] ?? '')
  const visitor = cookies(page)
  const answer = await fetch(`${daemon.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: visitor, origin: daemon.url },
    body: fields,
  })
  assert.ok([302, 303].includes(answer.status), String(answer.status))
  return `${visitor}; ${cookies(answer)}`
}

/** Opens a stream of notifications; `ended` settles when the daemon ends it. */
async function openStream(daemon: RunningDaemon, token: string): Promise<{ readonly ended: Promise<void> }> {
  const response = await fetch(daemon.url + mcpPath, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
  assert.equal(
    response.headers.get('content-type')?.split(';')[0],
    'text/event-stream',
    String(response.status),
  )
  return { ended: response.text().then(() => undefined) }
}
