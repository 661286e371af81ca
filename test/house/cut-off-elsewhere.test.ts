/** `users cut-off` at one of two daemons on one database ends what acts for the person at the other. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { inDatabase, noPostgres, startPostgres } from '../helpers/postgres.ts'
import { audited, page, password, sales, signIn } from '../pages/administered.ts'
import { busy, ping } from './acting-for.ts'

const other = 'hr@example.com'

async function startTwo(t: TestContext): Promise<readonly [RunningService, RunningService]> {
  const settings = inDatabase(t, await (await startPostgres(t)).newDatabase())
  return [await runService(t, folders(t, settings)), await runService(t, folders(t, settings))]
}

describe('users cut-off, of two daemons', { skip: noPostgres, timeout: 300_000 }, () => {
  it('ends at the other what was opened there: sign-in, tokens, keys, streams, tasks, calls; others go on', async (t) => {
    const [here, there] = await startTwo(t)
    const { services } = there.daemon
    await services.passwords.set(sales, password)
    const browser = await signIn(there, sales)
    const mine = await busy(there, sales)
    const theirs = await busy(there, other)
    const bearer = `Bearer ${mine.access_token}`
    for (const authorization of [bearer, mine.key.authorization])
      assert.deepEqual([await ping(there, authorization), await ping(here, authorization)], [200, 200])
    assert.match(page(await browser.open(`${there.url}/documents`)).html, /<h1>Documents/)
    const { id } = mine.task.record
    assert.equal((await services.tasks.find(mine.who, id)).status, 'working')

    const done = (await operate(here.options, 'users.cut_off', { user: sales })) as object
    assert.deepEqual(JSON.parse(JSON.stringify(done)), {
      user: sales,
      ended: { sessions: 1, links: 1, api_keys: 1, apps_and_tokens: 1, waiting_calls: 1, tasks: 1 },
      may_sign_in_again: true,
    })
    for (const service of [here, there])
      for (const authorization of [bearer, mine.key.authorization])
        assert.equal(await ping(service, authorization), 401)
    assert.equal(await services.tokens.findRefresh(mine.refresh_token), undefined)
    assert.match(page(await browser.open(`${there.url}/documents`)).html, /<h1>Sign in/)
    assert.match(page(await browser.open(mine.invited.url)).html, /role="alert"|no longer|ended/)
    assert.equal((await services.tasks.find(mine.who, id)).status, 'cancelled')
    assert.equal(await services.suspended.decision(mine.who, 'aggregate', { doctype: 'Item' }), undefined)
    // What runs there is told.
    await until(() => mine.stop.reason !== undefined && mine.call.reason !== undefined)
    // It ends only because the stream was closed.
    await mine.stream.text()

    for (const authorization of [`Bearer ${theirs.access_token}`, theirs.key.authorization])
      assert.equal(await ping(there, authorization), 200)
    assert.equal(theirs.stop.reason ?? theirs.call.reason, undefined)
    await theirs.stream.body!.cancel()
    for (const { leave } of [mine, theirs]) leave()
    await theirs.task.end({ status: 'completed' })
    assert.deepEqual(await audited(here, 'user.cut_off'), [`${sales}  ok`])
  })
})
