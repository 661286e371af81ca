/**
 * One user of the lowest role writes until the memory of the daemon is full: it refuses what is new and lives, what is
 * there can be read, deleted and revoked, and it starts again. One that is given too little to start says so.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyOfShippedSite, type RunningDaemon, startDaemon } from '../helpers/daemon.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { textOfCall, tokenOf } from '../helpers/tool-calls.ts'

const letters = 'ж'.repeat(45_000)
let written = 0
const withHeap = (megabytes: number) => ({ NODE_OPTIONS: `--max-old-space-size=${megabytes}` })

function write(daemon: RunningDaemon, token: string): Promise<string> {
  const data = { title: 'large', content: `${++written} ${letters}` }
  return textOfCall(daemon, token, 'create_document', { doctype: 'Note', data })
}

async function count(daemon: RunningDaemon, token: string): Promise<number> {
  const [, found] =
    /count\\":(\d+)/.exec(await textOfCall(daemon, token, 'count_documents', { doctype: 'Note' })) ?? []
  assert.ok(found !== undefined)
  return Number(found)
}

async function room(daemon: RunningDaemon): Promise<{ status: string; detail: string }> {
  const { checks } = (await (await fetch(`${daemon.url}/readyz`)).json()) as {
    checks: { name: string; status: string; detail: string }[]
  }
  return checks.find(({ name }) => name === 'room')!
}

/** Where nothing but the memory bounds what a person keeps. */
function siteWithoutQuota(t: TestContext): string {
  const site = copyOfShippedSite(t)
  const file = join(site, 'config/settings.yaml')
  const text = readFileSync(file, 'utf8')
  assert.match(text, /max_bytes_per_user: \d+/)
  writeFileSync(file, text.replace(/max_bytes_per_user: \d+/, 'max_bytes_per_user: 0'))
  return site
}

describe('a daemon whose memory is full', () => {
  it('refuses what is new, lets people read and delete, revokes, and starts again', async (t) => {
    const site = siteWithoutQuota(t)
    const first = await startDaemon(t, { site, env: withHeap(256) })
    const token = await tokenOf(first, 'hr@example.com')
    const other = await tokenOf(first, 'sales@example.com')
    let refused = ''
    let kept = 0
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        while (refused === '') {
          const answer = await write(first, token)
          if (answer.includes('"isError":true')) refused = answer
          else kept++
        }
      }),
    )
    t.diagnostic(`${kept} notes were kept`)
    assert.match(refused, /there is no room for anything new \(\d+ of \d+ MB of memory are used\)/)
    assert.match(refused, /can be read and deleted/)
    for (let n = 0; n < 100; n++) await write(first, token)
    const there = await count(first, token)
    assert.ok(there >= kept && there < kept + 100, `${there} of ${kept}`)
    assert.equal((await room(first)).status, 'degraded')
    const status = await first.cli(['status'])
    assert.match(status.stdout, /degraded +room: \d+ of \d+ MB of memory are used/)
    const told = first.output().stdout.match(/there is no room for what is new/g) ?? []
    assert.ok(told.length > 0 && told.length < 10, `logged ${told.length} times, not at each refusal`)
    const revoked = await first.cli(['tokens', 'revoke', '--user', 'sales@example.com'])
    assert.equal(revoked.code, 0, revoked.stderr)
    assert.match(await textOfCall(first, other, 'list_doctypes', {}), /invalid_token/)

    await first.stop('SIGKILL')
    const small = startDaemon(t, { site, state: first.state, env: withHeap(96) })
    await assert.rejects(small, /the state needs more memory than this process may take.*max-old-space-size/)
    const second = await startDaemon(t, { site, state: first.state, env: withHeap(256) })
    assert.equal(await count(second, token), there, 'nothing that was kept is lost')
    const listed = await textOfCall(second, token, 'list_documents', { doctype: 'Note', limit: 1000 })
    const names = [...listed.matchAll(/\[\\"([^"\\]+)\\",\\"large\\"/g)].map(([, name]) => name!)
    assert.ok(names.length > 0)
    await until(async () => {
      for (const name of names.splice(0, 50))
        assert.doesNotMatch(
          await textOfCall(second, token, 'delete_document', { doctype: 'Note', name }),
          /isError":true/,
        )
      return !(await write(second, token)).includes('"isError":true')
    })
  })
})
