/** A running service whose disk is full: it refuses what it cannot account for, goes on with the rest, and recovers by itself. */
import assert from 'node:assert/strict'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { AuditLine } from '../../src/audit/event.ts'
import { operate, stream } from '../../src/cli/control.ts'
import { folders, mcpPath, runService, type RunningService } from '../cli/running-service.ts'
import { smallDisk, until } from '../store/state-folder.ts'

const timeout = 120_000

describe('a service on a full disk', () => {
  it(
    'answers 503 to what must be audited, serves the rest, loses nothing, and recovers',
    { timeout },
    async (t) => {
      const disk = await smallDisk(t, 30_000_000)
      if ('reason' in disk) return t.skip(disk.reason)
      const where = folders(t)
      const state = join(disk.folder, 'state')
      const service = await runService(t, { ...where, state, options: { ...where.options, state } })
      const token = await tokenOf(service)
      assert.equal((await ask(service, token, 'tools/call', 'list_doctypes')).status, 200)

      const ballast = join(disk.folder, 'ballast')
      const { bavail, bsize } = statfsSync(disk.folder)
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail - 1) * bsize))
      // What still fits is accepted; then the log has no room.
      await until(async () => (await ask(service, token, 'tools/call', 'list_doctypes')).status !== 200)

      const refused = await ask(service, token, 'tools/call', 'create_document')
      assert.deepEqual([refused.status, refused.retryAfter], [503, '5'])
      assert.match(refused.text, /audit log cannot be written/)
      assert.equal((await ask(service, token, 'prompts/get', 'sales_analysis')).status, 503)
      assert.equal((await ask(service, token, 'resources/read', 'skill://x')).status, 503)
      assert.equal((await ask(service, token, 'tools/list')).status, 200)
      const registration = await fetch(`${service.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: ['https://portal.example.com/callback'] }),
      })
      assert.equal(registration.status, 503)
      const ready = (await (await fetch(`${service.url}/readyz`)).json()) as {
        checks: { name: string; status: string; detail: string }[]
      }
      const audit = ready.checks.find(({ name }) => name === 'audit')
      assert.notEqual(audit?.status, 'ok')
      assert.match(audit!.detail, /cannot be written/)
      assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
      assert.ok(service.lines.some((line) => String(line['msg']).includes('audit log cannot be written')))
      assert.equal(service.daemon.services.store.stats().documents['oauth.client'], 0)

      rmSync(ballast)
      await until(async () => (await ask(service, token, 'tools/call', 'list_doctypes')).status === 200)
      assert.ok(service.lines.some((line) => line['msg'] === 'the audit log can be written again'))
      const { ok } = await operate(service.options, 'audit.verify', {})
      assert.ok(ok)
      const created = (await events(service)).filter(({ target }) => target === 'create_document')
      assert.deepEqual(created, [], 'what was refused was not done')
      const { events: count } = await operate(service.options, 'audit.stats', {
        type: 'tool.call',
      })
      assert.equal(count, accepted, 'each call that was answered is told once')
    },
  )
})

let accepted = 0

async function ask(
  service: RunningService,
  token: string,
  method: string,
  name?: string,
): Promise<{ status: number; text: string; retryAfter: string | null }> {
  const params = name === undefined ? {} : { name, uri: name, arguments: {} }
  const response = await fetch(service.url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await response.text()
  if (method === 'tools/call' && response.status === 200) accepted++
  return { status: response.status, text, retryAfter: response.headers.get('retry-after') }
}

async function tokenOf(service: RunningService): Promise<string> {
  const issued = { user: 'sales@example.com' }
  return (await operate(service.options, 'tokens.issue', issued)).access_token
}

async function events(service: RunningService): Promise<AuditLine[]> {
  const found: AuditLine[] = []
  for await (const event of stream(service.options, 'audit.search', {})) found.push(event)
  return found
}
