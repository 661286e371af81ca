/** Edits while the service is in use: no request ever fails, whatever git does to the files meanwhile. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { copyOfShippedSite, startDaemon } from '../helpers/daemon.ts'

const files = 500

describe('a storm of edits', () => {
  it('fails no request: git checkouts of 500 files between two branches under load', async (t) => {
    const site = copyOfShippedSite(t)
    const git = (...args: string[]): void =>
      void execFileSync('git', ['-C', site, '-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], {
        stdio: 'pipe',
      })
    mkdirSync(join(site, 'prompts/many'), { recursive: true })
    const write = (edition: string): void => {
      for (let n = 0; n < files; n++)
        writeFileSync(join(site, `prompts/many/many_${n}.md`), template(n, edition))
    }
    git('init', '-q', '-b', 'one')
    write('one')
    git('add', '-A')
    git('commit', '-qm', 'one')
    git('checkout', '-q', '-b', 'two')
    write('two')
    git('add', '-A')
    git('commit', '-qm', 'two')

    const daemon = await startDaemon(t, { site })
    const issued = await daemon.cli(['tokens', 'issue', '--user', 'sales@example.com', '--json'])
    const { access_token } = JSON.parse(issued.stdout) as { access_token: string }
    const ask = async (method: string, params: object): Promise<any> => {
      const response = await fetch(`${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      assert.equal(response.status, 200)
      const body = (await response.json()) as { result?: any; error?: unknown }
      assert.ok(body.result, JSON.stringify(body))
      return body.result
    }
    const editionOf = async (n: number): Promise<string> =>
      (await ask('prompts/get', { name: `many_${n}` })).messages[0].content.text.trim()

    const storming = new AbortController()
    let requests = 0
    const load = Array.from({ length: 4 }, async (_, worker) => {
      while (!storming.signal.aborted) {
        assert.match(await editionOf((requests + worker) % files), /^edition (one|two)$/)
        if (requests % 25 === 0) assert.ok((await ask('prompts/list', {})).prompts.length > 0)
        requests++
        await delay(5)
      }
    })
    const storm = (async () => {
      for (let turn = 0; turn < 6; turn++) {
        git('checkout', '-q', turn % 2 === 0 ? 'one' : 'two')
        await delay(150)
      }
      git('checkout', '-q', 'one')
      const deadline = Date.now() + 60_000
      while ((await editionOf(files - 1)) !== 'edition one' || (await editionOf(0)) !== 'edition one') {
        assert.ok(Date.now() < deadline, 'the last checkout never came into use')
        await delay(100)
      }
    })().finally(() => {
      storming.abort()
    })
    await Promise.all([...load, storm])
    assert.ok(requests > 20, `only ${requests} requests`)
    assert.doesNotMatch(daemon.output().stdout, /"level":"error"/)
  })
})

function template(n: number, edition: string): string {
  return `---\ntitle: Many ${n}\ndescription: One of many\nstatus: Published\nvisibility: Public\n---\nedition ${edition}\n`
}
