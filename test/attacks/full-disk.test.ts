/** A running service whose disk is full: it refuses what it cannot account for, goes on with the rest, and recovers by itself. */
import assert from 'node:assert/strict'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { AuditLine } from '#audit/audit.ts'
import { operate, stream } from '../../src/cli/control.ts'
import { folders, mcpPath, runService, type RunningService } from '../cli/running-service.ts'
import { smallDisk, until } from '../../packages/state/test/state-folder.ts'

const timeout = 120_000

describe('a service on a full disk', () => {
  it(
    'lets people read on, refuses what changes data, loses nothing, and recovers',
    { timeout },
    async (t) => {
      const disk = await smallDisk(t, 30_000_000)
      if ('reason' in disk) return t.skip(disk.reason)
      const where = folders(t)
      const state = join(disk.folder, 'state')
      const service = await runService(t, { ...where, state, options: { ...where.options, state } })
      const token = await tokenOf(service)
      assert.equal((await ask(service, token, 'tools/call', 'list_doctypes')).status, 200)

      const notes = service.daemon.services.store.stats().documents['document.Note'] ?? 0
      const ballast = join(disk.folder, 'ballast')
      const { bavail, bsize } = statfsSync(disk.folder)
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail - 1) * bsize))
      // What still fits is accepted; then the log has no room but its reserve.
      const create = { doctype: 'Note', data: { title: 'on a full disk' } }
      await until(async () => {
        const { text } = await ask(service, token, 'tools/call', 'list_doctypes')
        assert.doesNotMatch(text, /isError":true/)
        return service.lines.some((line) => String(line['msg']).startsWith('the disk is full'))
      })

      const refused = await ask(service, token, 'tools/call', 'create_document', create)
      assert.match(refused.text, /"isError":true/)
      assert.match(refused.text, /the disk is full; reading goes on from a reserve/)
      for (const [method, name] of [
        ['tools/call', 'list_doctypes'],
        ['prompts/get', 'sales_analysis'],
        ['tools/list'],
      ] as const) {
        const { status, text } = await ask(service, token, method, name)
        assert.equal(status, 200, method)
        assert.doesNotMatch(text, /"isError":true|cannot be written/, method)
      }
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
      assert.equal(audit?.status, 'degraded')
      assert.match(audit.detail, /reading goes on from a reserve/)
      assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
      assert.equal(service.daemon.services.store.stats().documents['oauth.client'], 0)

      rmSync(ballast)
      await until(() => service.lines.some((line) => line['msg'] === 'the audit log has its reserve again'))
      const { ok } = await operate(service.options, 'audit.verify', {})
      assert.ok(ok)
      const created = (await events(service)).filter(({ target }) => target === 'create_document')
      assert.deepEqual(
        created.map(({ status }) => status),
        ['error'],
        'what was refused was not done, and is told',
      )
      assert.equal(service.daemon.services.store.stats().documents['document.Note'] ?? 0, notes)
      const after = await ask(service, token, 'tools/call', 'create_document', create)
      assert.doesNotMatch(after.text, /"isError":true/)
      const { events: count } = await operate(service.options, 'audit.stats', {
        type: 'tool.call',
      })
      assert.equal(count, accepted, 'each call that was answered is told once')
    },
  )
})

describe('a service whose disk one user fills', () => {
  it(
    'refuses what is new while there is room for deleting and for what must be told',
    { timeout },
    async (t) => {
      const disk = await smallDisk(t, 40_000_000)
      if ('reason' in disk) return t.skip(disk.reason)
      const where = folders(t)
      const state = join(disk.folder, 'state')
      const service = await runService(t, { ...where, state, options: { ...where.options, state } })
      const token = await tokenOf(service)
      const names: string[] = []
      const write = async (): Promise<string> => {
        const data = { title: 'large', content: 'x'.repeat(90_000) }
        const args = { doctype: 'Note', data }
        const { text } = await ask(service, token, 'tools/call', 'create_document', args)
        const [, name] = /\\"name\\":\\"(\w+)\\"/.exec(text) ?? []
        if (!text.includes('"isError":true')) names.push(name!)
        return text
      }
      let refused = ''
      while (!refused.includes('"isError":true')) refused = await write()
      assert.match(refused, /no room for anything new \(\d+ MB of the disk are free, of which 4 are kept\)/)
      const kept = service.daemon.services.store.stats().documents['document.note']
      for (let n = 0; n < 20; n++) assert.match(await write(), /"isError":true/)
      assert.equal(service.daemon.services.store.stats().documents['document.note'], kept)
      const fallen = service.lines.filter(({ level }) => level === 'error')
      assert.deepEqual(
        fallen.map(({ msg }) => msg),
        ['there is no room for what is new; it is refused until there is'],
        'nothing failed to be written',
      )
      for (const name of names) {
        const args = { doctype: 'Note', name }
        const { text } = await ask(service, token, 'tools/call', 'delete_document', args)
        assert.doesNotMatch(text, /"isError":true/)
      }
    },
  )
})

let accepted = 0

async function ask(
  service: RunningService,
  token: string,
  method: string,
  name?: string,
  args: unknown = {},
): Promise<{ status: number; text: string; retryAfter: string | null }> {
  const params = name === undefined ? {} : { name, uri: name, arguments: args }
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
