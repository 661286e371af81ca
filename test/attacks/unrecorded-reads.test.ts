/** Reading without a trace: whoever can stop the daemon, or hold up its log, must not thereby have read what nobody can see. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import type { AuditLine } from '#audit/audit.ts'
import { paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import { linesOf } from '../../packages/audit/test/audit-folder.ts'
import { Browser, type Page } from '../helpers/browser.ts'
import { atEnd, type RunningDaemon, startDaemon, temporaryFolder } from '../helpers/daemon.ts'
import { inDatabase, noPostgres, startPostgres, suitePostgres } from '../helpers/postgres.ts'
import { afterwards, fillDisk, smallDisk, until } from '../../packages/state/test/state-folder.ts'
import { folders } from '../cli/running-service.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const user = 'sales@example.com'
const read = { name: 'get_document', arguments: { doctype: 'Customer', name: 'Müller Bau' } }
const visit = { name: 'visit', arguments: { customer: 'Müller Bau' } }
const complete = { ref: { type: 'ref/prompt', name: 'visit' }, argument: { name: 'customer', value: 'M' } }
const password = 'correct horse battery staple'
/** A prompt that takes a document. */
const prompt = `---
prompt_id: visit
title: Visit
description: Prepares a visit to a customer
category: sales-crm
status: Published
visibility: Public
rendering_engine: Jinja2
arguments:
  - argument_name: customer
    argument_type: link
    doctype: Customer
    is_required: 1
---
Prepare a visit to {{ customer }}.
`
const isShown = (text: string): boolean => text.includes('Müller Bau')

describe('reads without a trace, with the log in files', { timeout: 240_000 }, () => {
  it('are none after kill -9: what was answered is in the log', async (t) => {
    const site = siteFor(t)
    const state = join(temporaryFolder(t), 'state')
    await killedUnderReads(
      t,
      () => startDaemon(t, { site, state }),
      () => linesOf(join(state, 'audit')),
    )
  })
})

describe('reads without a trace, with the log in a database', { skip: noPostgres, timeout: 240_000 }, () => {
  const server = suitePostgres()

  it('are none after kill -9: what was answered is in the log', async (t) => {
    const url = await server.newDatabase()
    const site = siteFor(t, url)
    const state = join(temporaryFolder(t), 'state')
    const client = await clientOf(t, url)
    await killedUnderReads(
      t,
      () => startDaemon(t, { site, state }),
      () => ledgerOf(client),
    )
  })

  it('are none while somebody holds the table of the log: nothing is shown, and the rest is served', async (t) => {
    const url = await server.newDatabase()
    const daemon = await startDaemon(t, { site: siteFor(t, url) })
    const token = await tokenOf(daemon, user)
    const client = await clientOf(t, url)
    const browser = new Browser()
    assert.equal((await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)).code, 0)
    const page = async (): Promise<Page> =>
      (await browser.open(`${daemon.url}${pages.documents.path}/Customer/M%C3%BCller%20Bau`)) as Page
    const signIn = await browser.submit(await page(), { username: user, password })
    assert.ok('html' in signIn && isShown(signIn.html))
    const answers = async (): Promise<{ text: string }[]> => [
      await ask(daemon, token, 'tools/call', read),
      await ask(daemon, token, 'prompts/get', visit),
      await ask(daemon, token, 'completion/complete', complete),
      { text: (await page()).html },
    ]
    for (const { text } of await answers()) assert.ok(isShown(text), text)

    await client.query('BEGIN; LOCK TABLE assistant_core.ledger IN SHARE MODE')
    const late = await Promise.all([
      ask(daemon, token, 'tools/call', read),
      ask(daemon, token, 'prompts/get', visit),
      ask(daemon, token, 'completion/complete', complete),
      page().then(({ html, status, headers }) => {
        assert.equal(status, 503)
        return { text: html, id: headers.get('x-request-id') }
      }),
    ])
    for (const { text } of late) {
      assert.ok(!isShown(text), text)
      assert.match(text, /could not be written to the audit log in time, so nothing is shown/)
    }
    for (const { text } of await answers()) {
      assert.ok(!isShown(text), text)
      assert.match(text, /an event has waited for \d+ seconds|written to the audit log in time/)
    }
    for (const method of ['ping', 'tools/list'])
      assert.equal((await ask(daemon, token, method)).status, 200, method)
    const ready = await fetch(`${daemon.url}/readyz`)
    assert.equal(ready.status, 503)
    assert.match(
      await ready.text(),
      /the log cannot be written; the oldest of \d+ events that wait is \d+(\.\d)? s old/,
    )

    await client.query('ROLLBACK')
    await until(async () => (await fetch(`${daemon.url}/readyz`)).status === 200)
    for (const { text } of await answers()) assert.ok(isShown(text), text)
    const lines = await ledgerOf(client)
    for (const { id } of late) {
      const told = lines.filter(({ request_id: of }) => of === id)
      assert.deepEqual(
        told.map(({ status, documents }) => [status, documents !== undefined]),
        [
          ['ok', true],
          ['error', false],
        ],
        'the last line of a refused call says that nothing was shown',
      )
    }
    const verified = await daemon.cli(['audit', 'verify', '--json'])
    assert.equal(verified.code, 0, verified.stdout)
  })
})

describe('reads on a database whose disk is full', { skip: noPostgres, timeout: 240_000 }, () => {
  it('go on and are told, writes are refused, and nothing is lost or told twice after kill -9', async (t) => {
    const disk = await smallDisk(t, 250_000_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const server = await startPostgres(
      { after: (close) => afterwards(t, close as () => Promise<void>) },
      { disk: disk.folder },
    )
    const url = await server.newDatabase()
    const client = await clientOf(t, url)
    const [site, state] = [siteFor(t, url), join(temporaryFolder(t), 'state')]
    const daemon = await startDaemon(t, { site, state })
    const token = await tokenOf(daemon, user)
    const ballast = fillDisk(disk.folder)

    const answered: string[] = []
    const readOnce = async (): Promise<void> => {
      const { id, text } = await ask(daemon, token, 'tools/call', read)
      assert.ok(isShown(text), text)
      answered.push(id)
    }
    const auditCheck = async (): Promise<string> =>
      (await (await fetch(`${daemon.url}/readyz`)).text()).replace(/.*"name":"audit",([^}]*).*/, '$1')
    await until(async () => {
      await readOnce()
      return /reading goes on from a reserve/.test(await auditCheck())
    })
    assert.match(await auditCheck(), /"status":"degraded"/)
    for (let n = 0; n < 20; n++) await readOnce()
    const note = {
      name: 'create_document',
      arguments: { doctype: 'Note', data: { title: 'on a full disk' } },
    }
    assert.match(
      (await ask(daemon, token, 'tools/call', note)).text,
      /the disk is full; reading goes on from a reserve/,
    )
    assert.match((await daemon.cli(['doctor'])).stdout, /reading goes on from a reserve/)
    assert.equal((await daemon.cli(['audit', 'verify'])).code, 0)
    const before = new Set((await ledgerOf(client)).map(({ request_id: id }) => id))
    assert.ok(answered.filter((id) => !before.has(id)).length >= 20, 'these are not in the database yet')
    await daemon.stop('SIGKILL')

    rmSync(ballast)
    const again = await startDaemon(t, { site, state })
    const told = (await ledgerOf(client)).map(({ request_id: id }) => id)
    assert.deepEqual(
      told.filter((id) => id !== undefined && answered.includes(id)),
      answered,
    )
    assert.equal((await again.cli(['audit', 'verify'])).code, 0)
    assert.doesNotMatch((await ask(again, token, 'tools/call', note)).text, /isError":true/)
  })
})

/** Three rounds of reads that end with the daemon, and what the log says of those that were answered. */
async function killedUnderReads(
  t: TestContext,
  start: () => Promise<RunningDaemon>,
  lines: () => Promise<readonly AuditLine[]>,
): Promise<void> {
  const answered: string[] = []
  for (let round = 0; round < 3; round++) {
    const daemon = await start()
    const token = await tokenOf(daemon, user)
    const before = answered.length
    // Until nobody answers any more.
    const reading = async (): Promise<void> => {
      for (;;) {
        const { id, text } = await ask(daemon, token, 'tools/call', read)
        if (isShown(text)) answered.push(id)
      }
    }
    const readers = Array.from({ length: 8 }, () => reading().catch(() => undefined))
    await until(() => answered.length >= before + 40)
    await daemon.stop('SIGKILL')
    await Promise.all(readers)
  }
  const told = new Set((await lines()).map(({ request_id: id }) => id))
  t.diagnostic(`${answered.length} reads were answered`)
  assert.deepEqual(
    answered.filter((id) => !told.has(id)),
    [],
  )
}

function siteFor(t: TestContext, url?: string): string {
  const { site } = folders(t, url === undefined ? [] : inDatabase(t, url))
  writeFileSync(join(site, 'prompts/sales-crm/visit.md'), prompt)
  const settings = join(site, 'config/settings.yaml')
  const unlimited = /(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m
  writeFileSync(settings, readFileSync(settings, 'utf8').replace(unlimited, '$1 false'))
  return site
}

async function ask(
  daemon: RunningDaemon,
  token: string,
  method: string,
  params: object = {},
): Promise<{ status: number; text: string; id: string }> {
  const response = await fetch(daemon.url + paths.mcp, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const id = response.headers.get('x-request-id') ?? ''
  return { status: response.status, text: await response.text(), id }
}

async function ledgerOf(client: Client): Promise<readonly AuditLine[]> {
  const { rows } = await client.query<{ line: string }>('SELECT line FROM assistant_core.ledger ORDER BY seq')
  return rows.map(({ line }) => JSON.parse(line) as AuditLine)
}

async function clientOf(t: TestContext, url: string): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => undefined)
  await client.connect()
  atEnd(t, () => client.end())
  return client
}
