/** `users cut-off`: one deed ends all that acts for a person, and says what it ended. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { AuditEvent } from '#audit/audit.ts'
import { operate, stream } from '../../src/cli/control.ts'
import { mayShutOut } from '../../src/core/effects.ts'
import { principalFor } from '../../src/core/principal.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { someone } from '../documents/trading-company.ts'
import { mcpPath, type RunningService } from '../cli/running-service.ts'
import {
  administered,
  assistantAdmin,
  audited,
  manager,
  page,
  sales,
  send,
  signIn,
} from '../pages/administered.ts'
import { until } from '../../packages/state/test/state-folder.ts'
import { busy, ping } from './acting-for.ts'

const other = 'hr@example.com'

describe('users cut-off', () => {
  it('ends sign-ins, links, keys, apps, tokens, streams, and calls that run or wait; others go on', async (t) => {
    const service = await administered(t)
    const { services } = service.daemon
    const browser = await signIn(service, sales)
    const mine = await busy(service, sales)
    const theirs = await busy(service, other)
    const bearer = `Bearer ${mine.access_token}`
    assert.deepEqual([await ping(service, bearer), await ping(service, mine.key.authorization)], [200, 200])
    assert.match(page(await browser.open(`${service.url}/documents`)).html, /<h1>Documents/)

    const done = (await operate(service.options, 'users.cut_off', { user: 'SALES@example.com' })) as object
    assert.deepEqual(JSON.parse(JSON.stringify(done)), {
      user: sales,
      ended: { sessions: 1, links: 1, api_keys: 1, apps_and_tokens: 1, waiting_calls: 1, tasks: 1 },
      may_sign_in_again: true,
    })
    assert.deepEqual([await ping(service, bearer), await ping(service, mine.key.authorization)], [401, 401])
    assert.equal(await services.tokens.findRefresh(mine.refresh_token), undefined)
    assert.match(page(await browser.open(`${service.url}/documents`)).html, /<h1>Sign in/)
    assert.match(page(await browser.open(mine.invited.url)).html, /role="alert"|no longer|ended/)
    assert.ok(mine.stop.reason && mine.call.reason)
    assert.equal((await services.tasks.find(mine.who, mine.task.record.id)).status, 'cancelled')
    assert.equal(await services.suspended.decision(mine.who, 'aggregate', { doctype: 'Item' }), undefined)
    // It ends only because the stream was closed.
    await mine.stream.text()

    assert.equal(await ping(service, `Bearer ${theirs.access_token}`), 200)
    assert.equal(await ping(service, theirs.key.authorization), 200)
    assert.equal(theirs.stop.reason ?? theirs.call.reason, undefined)
    await theirs.stream.body!.cancel()
    for (const { leave } of [mine, theirs]) leave()
    await theirs.task.end({ status: 'completed' })
    assert.deepEqual(await audited(service, 'user.cut_off'), [`${sales}  ok`])
  })

  it('ends what a browser was just sending: a form that arrives whole only afterwards does nothing', async (t) => {
    const service = await administered(t)
    const { services } = service.daemon
    const browser = await signIn(service, sales)
    const csrf = /name="csrf" value="([^"]+)"/.exec(
      page(await browser.open(`${service.url}/account`)).html,
    )![1]!
    const body = new URLSearchParams({ csrf, label: 'for later', days: '30' }).toString()
    const cookie = browser.cookiesFor(service.url)
    const type = 'application/x-www-form-urlencoded'
    const headers = { 'content-type': type, cookie, origin: service.url }
    const status = await cutOffWhileSending(service, '/account/key', headers, body)
    assert.equal(status, 403)
    assert.deepEqual(await services.apiKeys.list(sales), [])
    assert.deepEqual(await audited(service, 'api_key.create'), [])
  })

  it('ends what an app was just sending: a call that arrives whole only afterwards does not run', async (t) => {
    const service = await administered(t)
    const { services } = service.daemon
    const issued = (await operate(service.options, 'tokens.issue', { user: sales })) as never
    const { access_token } = issued as { access_token: string }
    const made = { doctype: 'Customer', data: { customer_name: 'Late Ltd' } }
    const params = { name: 'create_document', arguments: made }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${access_token}` }
    assert.equal(await cutOffWhileSending(service, mcpPath, headers, body), 401)
    const { documents } = services.site.current()
    const admin = principalFor(services.people().find('admin@example.com')!, 'r')
    assert.equal(
      await countDocuments(documents, admin, 'Customer', { customer_name: ['starts with', 'Late'] }),
      0,
    )
    assert.deepEqual(await audited(service, 'tool.call'), [])
    assert.deepEqual(await audited(service, 'request.refuse'), [`${sales}  denied`])
  })

  it('ends what was just being sent to a prompt method, by whatever right: no draft is written afterwards', async (t) => {
    const service = await administered(t)
    const { services } = service.daemon
    const body = JSON.stringify({ prompt_id: 'sales_analysis' })
    const made = async (name: 'tokens.issue' | 'api_keys.create'): Promise<Record<string, string>> =>
      (await operate(service.options, name, { user: sales })) as never
    const cookie = async () => ({ cookie: (await signIn(service, sales)).cookiesFor(service.url) })
    const token = async () => ({ authorization: `Bearer ${(await made('tokens.issue'))['access_token']}` })
    const key = async () => ({ authorization: (await made('api_keys.create'))['authorization']! })
    const duplicate = async (headers: Record<string, string>, meanwhile?: () => Promise<unknown>) =>
      cutOffWhileSending(
        service,
        `${promptMethodPrefix}duplicate_as_private`,
        { 'content-type': 'application/json', ...headers },
        body,
        meanwhile,
      )
    const signOut = () => services.sessions.closeAll(sales)
    const revoke = () => services.tokens.revoke({ user: sales }, 'revoked')
    const revokeKey = () => services.apiKeys.revokeAll(sales)
    const drafts = () =>
      [...services.site.current().library.for(someone(sales)).templates.keys()].filter((id) =>
        id.includes('sales_analysis_copy'),
      )
    const tried = [
      await duplicate(await token()),
      await duplicate(await token(), revoke),
      await duplicate(await key()),
      await duplicate(await key(), revokeKey),
      await duplicate(await cookie()),
      await duplicate(await cookie(), signOut),
    ]
    assert.deepEqual(tried, [401, 401, 401, 401, 401, 401])
    assert.deepEqual(drafts(), [])
    assert.deepEqual(await audited(service, 'prompt.duplicate'), [])
    assert.deepEqual(
      await audited(service, 'request.refuse'),
      tried.map(() => `${sales}  denied`),
    )
    // What is no reason to refuse it: the end of somebody else's access.
    assert.equal(await duplicate(await token(), () => services.tokens.revoke({ user: other }, 'x')), 200)
    assert.equal(drafts().length, 1)
  })

  it('is not needed for who is disabled in users.yaml: what runs or is on its way ends with the reload', async (t) => {
    const service = await administered(t)
    const { services } = service.daemon
    const [mine, theirs] = [await busy(service, sales), await busy(service, other)]
    const file = join(service.site, 'config/users.yaml')
    const entry = new RegExp(`(email: ${sales}\n)`)
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${mine.access_token}` }
    const body = JSON.stringify({ prompt_id: 'sales_analysis' })
    const path = `${promptMethodPrefix}duplicate_as_private`
    const status = await cutOffWhileSending(service, path, headers, body, async () => {
      const text = readFileSync(file, 'utf8')
      assert.match(text, entry)
      writeFileSync(file, text.replace(entry, '$1    enabled: false\n'))
      await services.reload('test')
    })
    assert.equal(status, 401)
    assert.ok(mine.call.reason)
    assert.equal(theirs.call.reason, undefined)
    assert.deepEqual(await audited(service, 'prompt.duplicate'), [])
    assert.deepEqual(await audited(service, 'request.refuse'), [`${sales}  denied`])
    for (const { leave, stream, task } of [mine, theirs]) {
      leave()
      await stream.body!.cancel()
      await task.end({ status: 'completed' })
    }
  })

  it('that fails half-way ends the rest all the same, and says in answer and log what ended and what is left', async (t) => {
    const service = await administered(t)
    const { services } = service.daemon
    const browser = await signIn(service, sales)
    const mine = await busy(service, sales)
    const bearer = `Bearer ${mine.access_token}`
    const away = t.mock.method(services.apiKeys, 'revokeAll', () =>
      Promise.reject(new Error('the disk is away')),
    )
    const counts = { sessions: 1, links: 1, apps_and_tokens: 1, waiting_calls: 1, tasks: 1 }
    const cutOff = () => operate(service.options, 'users.cut_off', { user: sales })
    await assert.rejects(cutOff(), {
      code: 'unavailable',
      message: `not all access of ${sales} has ended. Left: api keys. Ended: sessions 1, links 1, apps and tokens 1, waiting calls 1, tasks 1. Do it again`,
      data: { ended: counts, left: ['api_keys'] },
    })
    assert.deepEqual([await ping(service, bearer), await ping(service, mine.key.authorization)], [401, 200])
    assert.match(page(await browser.open(`${service.url}/documents`)).html, /<h1>Sign in/)
    const events: unknown[] = []
    for await (const { status, data } of stream(service.options, 'audit.search', { type: 'user.cut_off' }))
      events.push([status, data])
    assert.deepEqual(events, [['error', { ended: counts, left: { api_keys: 'the disk is away' } }]])

    away.mock.restore()
    const record = services.audit.record.bind(services.audit)
    const full = t.mock.method(services.audit, 'record', async (event: AuditEvent) => {
      if (event.type === 'user.cut_off') throw new Error('the disk is full')
      return record(event)
    })
    await assert.rejects(cutOff(), { message: /Left: audit event\. Ended: sessions 0, links 0, api keys 1,/ })
    assert.equal(await ping(service, mine.key.authorization), 401)
    full.mock.restore()
    assert.deepEqual(((await cutOff()) as { ended: object }).ended, {
      sessions: 0,
      links: 0,
      api_keys: 0,
      apps_and_tokens: 0,
      waiting_calls: 0,
      tasks: 0,
    })
    mine.leave()
    assert.deepEqual(await audited(service, 'user.cut_off'), [`${sales}  error`, `${sales}  ok`])
  })

  it('shuts nobody out who has a role of administration that the one at the browser lacks', async (t) => {
    const service = await administered(t)
    const helper = await signIn(service, assistantAdmin)
    const theirs = (await operate(service.options, 'tokens.issue', { user: manager })) as never
    const bearer = `Bearer ${(theirs as { access_token: string }).access_token}`
    const there = `/admin/people?user=${manager}`
    const cutOff = `/admin/people/cut-off?user=${manager}`
    assert.doesNotMatch(page(await helper.open(service.url + there)).html, /people\/cut-off/)
    const refused = await send(service, helper, there, cutOff, { id: manager })
    assert.equal(refused.status, 403)
    assert.match(refused.html, /this person has roles of administration that you lack/)
    assert.equal(await ping(service, bearer), 200)
    assert.deepEqual(await audited(service, 'user.cut_off'), [])
    const refusals = (await audited(service, 'cli.run')).filter((line) => line.includes('users.cut_off'))
    assert.deepEqual([...new Set(refusals)], [`${assistantAdmin} users.cut_off error`])
    const may = (by: string, whom: string): boolean =>
      mayShutOut({ roles: new Set([by]) }, { roles: new Set([whom]) })
    assert.ok(!may('Assistant Admin', 'Auditor') && !may('Auditor', 'Assistant Admin'))
    assert.ok(may('Assistant Admin', 'Assistant Admin') && may('System Manager', 'Auditor'))
    const browser = await signIn(service, manager)
    const at = `/admin/people?user=${assistantAdmin}`
    const done = await send(service, browser, at, `/admin/people/cut-off?user=${assistantAdmin}`, {
      id: assistantAdmin,
    })
    assert.match(done.html, /role="status" class="done">All that acted/)
    assert.match(page(await helper.open(`${service.url}/admin/people`)).html, /<h1>Sign in/)
  })

  it('is a button beside the person, after a recent sign-in, and a mistyped address is told', async (t) => {
    const service = await administered(t)
    const { access_token } = (await operate(service.options, 'tokens.issue', { user: sales })) as never as {
      access_token: string
    }
    const browser = await signIn(service, assistantAdmin)
    const press = () =>
      send(service, browser, `/admin/people?user=${sales}`, `/admin/people/cut-off?user=${sales}`, {
        id: sales,
      })
    service.pass(901)
    assert.match((await press()).html, /<h1>Sign in/)
    assert.equal(await ping(service, `Bearer ${access_token}`), 200)
    const again = await signIn(service, assistantAdmin)
    const pressed = await send(
      service,
      again,
      `/admin/people?user=${sales}`,
      `/admin/people/cut-off?user=${sales}`,
      { id: sales },
    )
    assert.match(pressed.html, /role="status" class="done">All that acted for this person has ended/)
    assert.equal(await ping(service, `Bearer ${access_token}`), 401)
    await assert.rejects(operate(service.options, 'users.cut_off', { user: 'sale@example.com' }), {
      message: /no user sale@example\.com/,
    })
    assert.deepEqual(await audited(service, 'cli.run'), [
      `cli tokens.issue ok`,
      `${assistantAdmin} users.cut_off ok`,
      `cli users.cut_off error`,
    ])
  })
})

/** Sends a request of which the second half comes after its user was cut off, or what else happens meanwhile; returns the status of its answer. */
async function cutOffWhileSending(
  service: RunningService,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  meanwhile: () => Promise<unknown> = () => operate(service.options, 'users.cut_off', { user: sales }),
): Promise<number | undefined> {
  const sending = request(service.url + path, {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body), expect: '100-continue' },
  })
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>
  sending.flushHeaders()
  await once(sending, 'continue')
  sending.write(body.slice(0, 20))
  // Forms of pages are let in only once they are whole.
  const { running } = service.daemon.services
  if (headers['content-type'] === 'application/json')
    await until(() => running.principals().some(({ user }) => user === sales))
  await meanwhile()
  sending.end(body.slice(20))
  const [answer] = await answered
  answer.resume()
  return answer.statusCode
}
