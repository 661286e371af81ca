import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { createLog } from '#leaf/log.ts'
import { startDaemon } from '../../src/daemon.ts'
import { listDoctypesTool } from '../../src/tools/reading/list-doctypes.ts'
import type { ToolContext } from '../../src/tools/tool.ts'
import { folders, mcpPath } from '../cli/running-service.ts'
import { atEnd } from '../helpers/daemon.ts'
import { getStream } from './stream.ts'
import { until } from '../../packages/state/test/state-folder.ts'

describe('a call that runs while its token is revoked', () => {
  it('is ended at once, and those of others go on', { timeout: 60_000 }, async (t) => {
    const running = new Map<string, AbortSignal>()
    const release: (() => void)[] = []
    t.mock.method(listDoctypesTool, 'run', (_: unknown, { principal, signal }: ToolContext) => {
      running.set(principal.user, signal)
      return new Promise((done) => release.push(() => done('waited')))
    })
    const { site, state, options } = folders(t)
    const log = createLog('silent', process.stderr)
    const daemon = await startDaemon({ site, state, port: 0, analysis: false, log, logLevel: 'silent' })
    atEnd(t, () => daemon.stop())
    const call = async (user: string, more: Record<string, string> = {}) => {
      const { access_token: token } = await operate(options, 'tokens.issue', {
        user,
      })
      const meta = more['MCP-Protocol-Version'] && {
        'io.modelcontextprotocol/protocolVersion': more['MCP-Protocol-Version'],
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more }
      const ask = (): Promise<Response> =>
        fetch(`http://localhost:${daemon.address.port}${mcpPath}`, {
          method: 'POST',
          headers,
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name: 'list_doctypes', arguments: {}, ...(meta && { _meta: meta }) },
          }),
        })
      const answer = ask().then((response) => response.text())
      await until(() => running.has(user))
      return { answer, ask }
    }
    const modern = {
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': 'list_doctypes',
    }
    const legacy = await call('sales@example.com')
    const newer = await call('hr@example.com', modern)
    const other = await call('admin@example.com')

    for (const user of ['sales@example.com', 'hr@example.com']) {
      await operate(options, 'tokens.revoke', { user })
      assert.ok(running.get(user)!.aborted, user)
    }
    assert.match(await legacy.answer, /cancelled/)
    assert.match(await newer.answer, /cancelled/)
    assert.equal((await legacy.ask()).status, 401)
    assert.equal(running.get('admin@example.com')!.aborted, false)
    for (const end of release) end()
    assert.match(await other.answer, /waited/)
  })
})

describe('an API key that is revoked', () => {
  it(
    'ends its streams and running calls at once; those of another key and of a token go on',
    { timeout: 60_000 },
    async (t) => {
      const running = new Map<string, AbortSignal>()
      t.mock.method(listDoctypesTool, 'run', (_: unknown, { principal, signal }: ToolContext) => {
        running.set(principal.apiKey!, signal)
        return new Promise((_done, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
      })
      const { site, state, options } = folders(t)
      const log = createLog('silent', process.stderr)
      const daemon = await startDaemon({ site, state, port: 0, analysis: false, log, logLevel: 'silent' })
      atEnd(t, () => daemon.stop())
      const url = `http://localhost:${daemon.address.port}${mcpPath}`
      const user = 'sales@example.com'
      const [one, other] = [
        await operate(options, 'api_keys.create', { user }),
        await operate(options, 'api_keys.create', { user }),
      ]
      const { access_token: token } = await operate(options, 'tokens.issue', { user })
      const streams = await Promise.all(
        [one.authorization, other.authorization, `Bearer ${token}`].map((authorization) =>
          getStream(t, url, { authorization }),
        ),
      )
      assert.deepEqual(
        streams.map(({ status }) => status),
        [200, 200, 200],
      )
      const ended = new Set<number>()
      streams.forEach(
        (stream, n) =>
          void stream.next().then(
            () => ended.add(n),
            () => undefined,
          ),
      )
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_doctypes', arguments: {} },
      })
      const call = ({ authorization }: { authorization: string }): Promise<string> =>
        fetch(url, {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json' },
          body,
        }).then((response) => response.text())
      const answer = call(one)
      void call(other).catch(() => undefined)
      await until(() => running.size === 2)

      await operate(options, 'api_keys.revoke', { api_key: one.api_key })
      assert.match(await answer, /cancelled/)
      await until(() => ended.size > 0)
      assert.deepEqual([...ended], [0])
      assert.equal(running.get(other.api_key)!.aborted, false)
      assert.match(await call(one), /the API key is not active/)
      await operate(options, 'api_keys.revoke', { api_key: other.api_key })
      await until(() => ended.has(1))
      assert.deepEqual([...ended], [0, 1], 'the stream of the token is open')
    },
  )
})
