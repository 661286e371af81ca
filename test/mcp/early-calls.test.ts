/** Reads on a shared database: the state is asked for the token and for what is read at once, and shows nothing too early. */
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { sha256 } from '#leaf/secrets.ts'
import { operate } from '../../src/cli/control.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { inDatabase, noPostgres, startPostgres } from '../helpers/postgres.ts'
import { type SlowProxy, startSlowProxy } from '../helpers/slow-proxy.ts'
import { audited } from '../pages/administered.ts'
import { callTool } from '../helpers/tool-calls.ts'

const user = 'sales@example.com'
/** The reads, with what of them the database is sent. */
const readsOf = (name: string) =>
  [
    // Ids are kept in two bytes a letter.
    ['get_document', { doctype: 'Note', name }, name.split('').join('\0')],
    ['list_documents', { doctype: 'Note', filters: { title: 'Far away' } }, 'Far away'],
  ] as const

describe('a read whose token was valid at the last look', { skip: noPostgres, timeout: 120_000 }, () => {
  const closers: (() => unknown)[] = []
  let here: RunningService
  let far: RunningService
  let proxy: SlowProxy
  before(async () => {
    ;({ here, far, proxy } = await startTwo({ after: (step: () => unknown) => void closers.push(step) }))
  })
  after(async () => {
    for (const close of closers.reverse()) await close()
  })

  it('is asked of the database together with the token', async () => {
    const { token, reads } = await known(here, far)
    for (const [tool, args, asked] of reads) {
      const release = proxy.hold()
      const answer = callTool(far, token, tool, args)
      try {
        await until(() => proxy.sent().includes(sha256(token)) && proxy.sent().includes(asked))
      } finally {
        release()
      }
      assert.match(await (await answer).text(), /Far away/, tool)
    }
  })

  it('is answered 401, with nothing of it told, when it was revoked elsewhere since', async () => {
    const { token, reads } = await known(here, far)
    const [tool, args, asked] = reads[0]
    const before = await audited(here, 'tool.call')
    const release = proxy.hold()
    await operate(here.options, 'tokens.revoke', { user })
    const answer = callTool(far, token, tool, args)
    await until(() => proxy.sent().includes(asked))
    release()
    const { status, headers } = await answer
    assert.equal(status, 401)
    assert.match(headers.get('www-authenticate')!, /error="invalid_token"/)
    assert.doesNotMatch(await (await answer).text(), /Far away/)
    assert.deepEqual(await audited(here, 'tool.call'), before)
    assert.equal((await callTool(far, token, tool, args)).status, 401)
  })

  it('waits for the token first where it does more than read', async () => {
    const { token } = await known(here, far)
    const release = proxy.hold()
    await operate(here.options, 'tokens.revoke', { user })
    const made = callTool(far, token, 'create_document', { doctype: 'Note', data: { title: 'Too late' } })
    await until(() => proxy.sent().includes(sha256(token)))
    release()
    assert.equal((await made).status, 401)
    assert.ok(!proxy.sent().includes('Too late'))
  })
})

describe('the turns of a call to the database', { skip: noPostgres, timeout: 120_000 }, () => {
  it('are the token, what is asked or changed, and the line of the log', async (t) => {
    const { here, far, proxy } = await startTwo(t)
    const { token, reads } = await known(here, far)
    /** Besides calls there is what a daemon does by itself: the fewest of many tries have none of that. */
    const fewest = async (ask: () => Promise<Response>): Promise<number> => {
      const counts: number[] = []
      for (let n = 0; n < 12; n++) {
        const before = proxy.turns()
        assert.equal((await ask()).status, 200)
        counts.push(proxy.turns() - before)
      }
      return Math.min(...counts)
    }
    // Token and documents are asked for at once, by two connections.
    const asked = [reads[0], ['list_documents', { doctype: 'Note' }]] as const
    for (const [tool, args] of asked)
      assert.ok((await fewest(() => callTool(far, token, tool, args))) <= 3, tool)
    // The token, two of the transaction, the line that tells of the call.
    const note = { doctype: 'Note', data: { title: 'Of two turns' } }
    assert.ok((await fewest(() => callTool(far, token, 'create_document', note))) <= 4)
  })
})

/** Two daemons on one database, of which one has a proxy in front of it. */
async function startTwo(t: Pick<TestContext, 'after'>) {
  const postgres = await startPostgres(t)
  const proxy = await startSlowProxy(postgres.port)
  t.after(() => proxy.close())
  const near = new URL(await postgres.newDatabase())
  const behind = new URL(near)
  behind.port = String(proxy.port)
  const run = (url: URL): Promise<RunningService> => runService(t, folders(t, inDatabase(t, url.href)))
  return { proxy, here: await run(near), far: await run(behind) }
}

/** A token and a note, both known to the daemon far from the database, whose connections are open from then on. */
async function known(here: RunningService, far: RunningService) {
  const { access_token: token } = (await operate(here.options, 'tokens.issue', { user })) as {
    access_token: string
  }
  const made = await callTool(here, token, 'create_document', {
    doctype: 'Note',
    data: { title: 'Far away' },
  })
  const { result } = (await made.json()) as { result: { content: { text: string }[] } }
  const reads = readsOf((JSON.parse(result.content[0]!.text) as { name: string }).name)
  for (const [tool, args] of reads)
    for (const one of await Promise.all([1, 2, 3, 4].map(() => callTool(far, token, tool, args))))
      assert.match(await one.text(), /Far away/)
  return { token, reads }
}
