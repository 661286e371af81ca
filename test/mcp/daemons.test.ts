/** Two daemons on one database, as a plain proxy shows them: each request may come to the other. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '#leaf/clock.ts'
import type { Principal } from '../../src/core/principal.ts'
import { RateLimits } from '../../src/oauth/rate-limits.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { attemptsOn } from '../../src/house/sign-in-door.ts'
import { SignIn } from '#credentials/sign-in.ts'
import { silent } from '../documents/trading-company.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../helpers/postgres.ts'
import { afterwards, until } from '../../packages/state/test/state-folder.ts'
import { type CallOptions, defaultSettings, modern, startServer, type TestServer } from './server.ts'
import { wipeTool } from './tools-for-tests.ts'

const call = { name: 'wipe', arguments: { thing: 'disk' } }
const person = {
  user: 'user@example.com',
  requestId: 'page',
  roles: new Set(),
  scopes: [],
} as unknown as Principal

let database: TestPostgres

describe('two daemons on one database', { skip: noPostgres, timeout: 300_000 }, () => {
  database = suitePostgres()

  it('have one approval for a call, whichever is asked, decided at either and used up once', async (t) => {
    const runs: unknown[] = []
    const [one, two] = await startTwo(t, { tools: [wipeTool(runs)], confirm: { wipe: 'page' } })
    const told = [await text(one), await text(two), await text(one)].map(
      (said) => /approvals\/(\S+)/.exec(said)![1],
    )
    assert.equal(new Set(told).size, 1, 'every answer names the same page')
    const [approval, ...others] = await two.suspended.waitingFor(person.user)
    assert.deepEqual(others, [])
    assert.equal((await one.suspended.find(person.user, approval!.id)).tool, 'wipe')
    await two.suspended.decide(person, approval!.id, 'approve')
    await assert.rejects(one.suspended.decide(person, approval!.id, 'deny'), { code: 'conflict' })
    assert.equal(await text(one), 'wiped')
    assert.match(await text(two), /needs the user's approval/)
    assert.equal(runs.length, 1)
    const events = [...one.events, ...two.events].map(({ type, status }) => `${type} ${status}`)
    assert.deepEqual(events.sort(), [
      'tool.approval_request ok',
      'tool.approval_request ok',
      'tool.approve ok',
      'tool.call ok',
      ...Array.from({ length: 4 }, () => 'tool.call waiting'),
    ])
  })

  it('wake the call that waits at one when the person decides at the other', async (t) => {
    const runs: unknown[] = []
    const [one, two] = await startTwo(t, { tools: [wipeTool(runs)], confirm: { wipe: 'page' } })
    const options: CallOptions = { revision: modern, capabilities: { elicitation: { url: {} } } }
    const { json } = await one.call('tools/call', call, options)
    const answered = { 'assistant_core.approve': { action: 'accept' } }
    const again = { ...call, inputResponses: answered, requestState: json.result.requestState }
    let isOver = false
    const waiting = two.call('tools/call', again, options).finally(() => (isOver = true))
    const [approval] = await one.suspended.waitingFor(person.user)
    await one.suspended.decide(person, approval!.id, 'approve')
    assert.equal((await waiting).json.result.content[0].text, 'wiped')
    assert.ok(isOver)
    assert.equal(runs.length, 1)
  })

  it('take the answer to a question that the other put, and take it once', async (t) => {
    const runs: unknown[] = []
    const [one, two] = await startTwo(t, { tools: [wipeTool(runs)], confirm: { wipe: 'client' } })
    const options: CallOptions = { revision: modern, capabilities: { elicitation: { form: {} } } }
    for (const [asked, told] of [
      [one, two],
      [two, one],
    ] as const) {
      const { json } = await asked.call('tools/call', call, options)
      const { requestState } = json.result
      const inputResponses = { 'assistant_core.confirm': { action: 'accept', content: { confirm: true } } }
      const done = await told.call('tools/call', { ...call, inputResponses, requestState }, options)
      assert.equal(done.json.result.content[0].text, 'wiped')
      for (const server of [one, two]) {
        const spent = await server.call('tools/call', { ...call, inputResponses, requestState }, options)
        assert.match(spent.json.error.message, /requestState: not valid for this request, expired or used/)
      }
    }
    assert.equal(runs.length, 2)
  })

  it('end a call of the other that its client takes back', async (t) => {
    let [began, ended] = [false, false]
    const slow = defineTool({
      name: 'slow',
      title: 'Slow',
      description: 'Takes its time.',
      category: 'read_only',
      input: { type: 'object', properties: {} },
      run: async (_, { signal }) => {
        began = true
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        ended = true
        return 'late'
      },
    })
    const [one, two] = await startTwo(t, { tools: [slow] })
    const running = one.call('tools/call', { name: 'slow', arguments: {} }, { id: 77 }).catch(() => undefined)
    await until(() => began)
    const taken = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } }
    assert.equal((await two.send(JSON.stringify(taken))).status, 202)
    await until(() => ended)
    await running
  })

  it('slow down together who guesses passwords, and forgive together', async (t) => {
    const stores = await openTwo(t)
    const heard = countHeard(stores, 'sign_in ')
    let right = false
    const doors = stores.map(
      (store) =>
        new SignIn({
          store,
          attempts: attemptsOn(store),
          clock: systemClock,
          people: () => ({ find: () => ({ id: person.user, enabled: true }) }),
          passwords: { matches: async () => right },
          audit: {
            record: async () => undefined,
          },
        }),
    )
    let told = 0
    const attempt = async (n: number, username: string): Promise<string> => {
      const origin = { request_id: 'r', address: '192.0.2.1' }
      const { kind } = await doors[n % 2]!.attempt({ username, password: 'x' }, origin)
      told += { wait: 0, refused: 1, signed_in: 2 }[kind]
      await until(() => heard.every((count) => count === told))
      return kind
    }
    // Three at one and two at the other: neither would slow down by itself.
    for (let n = 0; n < 5; n++) assert.equal(await attempt(n, 'ann'), 'refused')
    for (const n of [0, 1]) assert.equal(await attempt(n, 'ann'), 'wait')
    for (let n = 0; n < 4; n++) assert.equal(await attempt(n, 'bob'), 'refused')
    right = true
    assert.equal(await attempt(0, 'bob'), 'signed_in')
    right = false
    for (let n = 1; n < 5; n++) assert.equal(await attempt(1, 'bob'), 'refused', 'the failures are forgotten')
  })

  it('have one budget of requests, but for what comes within a second', async (t) => {
    const stores = await openTwo(t)
    const heard = countHeard(stores, 'limits ')
    const settings = defaultSettings(({ rate_limits: limits }) => {
      limits.mcp.points = 10
      limits.mcp.seconds = 3600
    })
    const [one, two] = stores.map((store) => new RateLimits({ settings: () => settings, store })) as [
      RateLimits,
      RateLimits,
    ]
    const from = { address: '192.0.2.1', key: 'token' }
    for (let n = 0; n < 8; n++) assert.equal(await one.secondsToWait('mcp', from), 0)
    await until(() => heard.every((count) => count === 1))
    for (let n = 0; n < 2; n++) assert.equal(await two.secondsToWait('mcp', from), 0)
    assert.ok((await two.secondsToWait('mcp', from)) > 0, 'eight of the ten were taken at the other')
    assert.equal(await two.secondsToWait('mcp', { ...from, key: 'another' }), 0)
    await until(() => heard.every((count) => count === 2))
    assert.ok((await one.secondsToWait('mcp', from)) > 0)
  })
})

async function openTwo(t: TestContext): Promise<readonly PostgresStore[]> {
  const url = await database.newDatabase()
  return [await open(t, url), await open(t, url)]
}

/** How many announcements of a kind each has heard. */
function countHeard(stores: readonly PostgresStore[], topic: string): number[] {
  const heard = stores.map(() => 0)
  for (const [n, store] of stores.entries())
    store.hear((message) => {
      if (message?.startsWith(topic)) heard[n]!++
    })
  return heard
}

async function startTwo(
  t: TestContext,
  options: Parameters<typeof startServer>[1],
): Promise<readonly [TestServer, TestServer]> {
  const url = await database.newDatabase()
  const servers: TestServer[] = []
  for (let n = 0; n < 2; n++) servers.push(await startServer(t, { ...options, store: await open(t, url) }))
  return [servers[0]!, servers[1]!]
}

async function open(t: TestContext, url: string): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, clock: systemClock, log: silent })
  afterwards(t, () => store.close())
  return store
}

async function text(server: TestServer): Promise<string> {
  const { json } = await server.call('tools/call', { ...call })
  return json.result.content[0].text as string
}
