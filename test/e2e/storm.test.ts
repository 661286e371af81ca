/** Edits while the service is in use: no request ever fails, whatever git does to the files meanwhile. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { copyOfShippedSite, startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

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

    const { daemon, ask } = await served(t, site)
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

  it('serves the last text soon after 300 writes of which a third is broken, and never half of one', async (t) => {
    const site = copyOfShippedSite(t)
    const file = join(site, 'prompts/stormy.md')
    const good = (edition: number): string => template(edition, `${edition} ${'.'.repeat(20_000)} ${edition}`)
    const write = (edition: number): void => {
      const text = good(edition)
      // In turn a fault and a file whose front matter does not end yet.
      const broken = [text.replace('status: Published', 'status: Publish'), text.slice(0, 60)]
      writeFileSync(file, edition % 3 === 0 ? broken[(edition / 3) % 2]! : text)
    }
    write(1)
    const { daemon, ask } = await served(t, site)
    const textOf = async (): Promise<string> =>
      (await ask('prompts/get', { name: 'stormy' })).messages[0].content.text.trim()
    const seen = new Set<string>()
    const storming = new AbortController()
    const reading = (async () => {
      while (!storming.signal.aborted) {
        const [, first, , last] = (await textOf()).split(' ')
        assert.equal(first, last)
        seen.add(first!)
        await delay(10)
      }
    })()
    for (let edition = 1; edition <= 300; edition++) {
      write(edition)
      await delay(10)
    }
    write(301)
    const began = Date.now()
    while (!(await textOf()).startsWith('edition 301 ')) {
      assert.ok(Date.now() - began < 30_000, 'the last text never came into use')
      await delay(20)
    }
    const milliseconds = Date.now() - began
    storming.abort()
    await reading
    t.diagnostic(`last text after ${milliseconds} ms; ${seen.size} editions seen`)
    assert.equal(((await (await fetch(`${daemon.url}/healthz`)).json()) as { status: string }).status, 'ok')
  })
})

/** A daemon on a site, and how to ask it as one of its users. */
async function served(
  t: TestContext,
  site: string,
): Promise<{ daemon: RunningDaemon; ask: (method: string, params: object) => Promise<any> }> {
  const daemon = await startDaemon(t, { site })
  const token = await tokenOf(daemon, 'sales@example.com')
  const ask = async (method: string, params: object): Promise<any> => {
    const response = await fetch(`${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    assert.equal(response.status, 200)
    const body = (await response.json()) as { result?: any; error?: unknown }
    assert.ok(body.result, JSON.stringify(body))
    return body.result
  }
  return { daemon, ask }
}

function template(n: number, edition: string): string {
  return `---\ntitle: Many ${n}\ndescription: One of many\nstatus: Published\nvisibility: Public\n---\nedition ${edition}\n`
}
