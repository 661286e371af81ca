/** The whole program on a primary that was left behind: it says so wherever somebody looks, and waits for an answer. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startDaemon, type RunningDaemon } from '../helpers/daemon.ts'
import { inDatabase, caughtUp, noPostgres, startPostgres, startStandby } from '../helpers/postgres.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { folders, noPython } from '../cli/running-service.ts'
import { callTool, tokenOf } from '../helpers/tool-calls.ts'

const older = /older history: it is on timeline 1, and timeline 2 was seen/

it(
  'a daemon refuses a primary that was left behind, also when it starts again, until accept-loss',
  { skip: noPostgres, timeout: 300_000 },
  async (t) => {
    const primary = await startPostgres(t)
    const name = new URL(await primary.newDatabase()).pathname
    const standby = await startStandby(t, primary)
    const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join(',')
    const settings = inDatabase(t, `postgresql://postgres@${hosts}${name}`)
    const { site } = folders(t, [...settings, noPython])
    const first = await startDaemon(t, { site })
    const token = await tokenOf(first, 'sales@example.com')
    assert.equal(await create(first, token, 'on the first'), '')
    await caughtUp(primary)
    await primary.stop()
    await standby.promote()
    await until(async () => (await create(first, token, 'on the second')) === '')

    await standby.stop()
    await primary.start()
    await until(async () => older.test(await create(first, token, 'nowhere')))
    const ready = await fetch(`${first.url}/readyz`)
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /the server of the database lacks what had been kept; status says what/)
    assert.match((await first.cli(['status'])).stdout, older)
    const doctor = await first.cli(['doctor', '--json'])
    assert.match(doctor.stdout, older)
    assert.match(doctor.stdout, /"daemon\.store"[^}]*lacks what had been kept/)
    await first.stop()

    const again = { site, state: first.state }
    await assert.rejects(startDaemon(t, again), older)
    assert.match((await first.cli(['tokens', 'list'])).stderr, older)
    const accepted = await first.cli(['audit', 'accept-loss', '--reason', 'the second burnt down'])
    assert.equal(accepted.code, 0, accepted.stderr)
    assert.match(accepted.stdout, older)
    assert.match(accepted.stdout, /\d+ are missing/)
    const last = await startDaemon(t, again)
    assert.equal(await create(last, token, 'on the first again'), '')
    assert.equal((await fetch(`${last.url}/readyz`)).status, 200)
    const listed = await last.cli(['audit', 'search', '--type', 'audit.accept', '--json'])
    assert.match(listed.stdout, /the second burnt down/)
    const told = await last.cli(['audit', 'verify'])
    assert.equal(told.code, 0, told.stdout)
  },
)

/** Answers why it was refused; nothing once it is kept. */
async function create(daemon: RunningDaemon, token: string, title: string): Promise<string> {
  const response = await callTool(daemon, token, 'create_document', { doctype: 'Note', data: { title } })
  const text = await response.text()
  return response.status === 200 && !text.includes('"isError":true') ? '' : text
}
