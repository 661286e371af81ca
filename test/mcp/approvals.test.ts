import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Principal } from '../../src/core/principal.ts'
import { type CallOptions, modern, startServer, type TestServer } from './server.ts'
import { wipeTool } from './tools-for-tests.ts'

const call = { name: 'wipe', arguments: { thing: 'disk' } }
const person = {
  user: 'user@example.com',
  requestId: 'page',
  roles: new Set(),
  scopes: [],
} as unknown as Principal

async function setup(
  t: Parameters<typeof startServer>[0],
  clock?: { now(): number },
): Promise<{ server: TestServer; runs: unknown[] }> {
  const runs: unknown[] = []
  const server = await startServer(t, {
    tools: [wipeTool(runs)],
    confirm: { wipe: 'page' },
    ...(clock && { clock }),
  })
  return { server, runs }
}

async function text(server: TestServer, params: object = call, options: CallOptions = {}): Promise<string> {
  const { json } = await server.call('tools/call', { ...params }, options)
  return json.result.content[0].text as string
}

describe('a call that its user must approve on a page', () => {
  it('names the page, and runs once after the user approved exactly this call', async (t) => {
    const { server, runs } = await setup(t)
    assert.match(await text(server), /needs the user's approval.*\/approvals\/[\w-]{22} and decide there/)
    const [approval] = await server.suspended.waitingFor('user@example.com')
    assert.deepEqual(
      {
        tool: approval!.tool,
        title: approval!.title,
        arguments: approval!.arguments,
        client: approval!.client,
        destructive: approval!.destructive,
      },
      {
        tool: 'wipe',
        title: 'Wipe',
        arguments: { thing: 'disk' },
        client: { id: 'client-1', name: 'Test client' },
        destructive: true,
      },
    )
    // Asking again does not make a second question.
    await text(server)
    assert.equal((await server.suspended.waitingFor('user@example.com')).length, 1)

    await server.suspended.decide(person, approval!.id, 'approve')
    assert.match(
      await text(server, { name: 'wipe', arguments: { thing: 'other' } }),
      /needs the user's approval/,
    )
    assert.deepEqual(runs, [])
    assert.equal(await text(server), 'wiped')
    assert.match(await text(server), /needs the user's approval/)
    assert.deepEqual(runs, [{ thing: 'disk' }])
    assert.deepEqual(
      server.events.map(({ type, user, status }) => `${type} ${user} ${status}`),
      [
        'tool.approval_request user@example.com ok',
        'tool.call user@example.com waiting',
        'tool.call user@example.com waiting',
        'tool.approve user@example.com ok',
        'tool.approval_request user@example.com ok',
        'tool.call user@example.com waiting',
        'tool.call user@example.com ok',
        'tool.approval_request user@example.com ok',
        'tool.call user@example.com waiting',
      ],
    )
  })

  it('does not run after the user denied it', async (t) => {
    const { server, runs } = await setup(t)
    await text(server)
    const [approval] = await server.suspended.waitingFor('user@example.com')
    await server.suspended.decide(person, approval!.id, 'deny')
    assert.match(await text(server), /the user denied this call/)
    await assert.rejects(server.suspended.decide(person, approval!.id, 'approve'), { code: 'not_found' })
    assert.deepEqual(runs, [])
    assert.equal(server.events.at(-1)!.status, 'denied')
  })

  it('cannot be approved by another user, twice, or too late', async (t) => {
    let now = 0
    const { server, runs } = await setup(t, { now: () => now })
    await text(server)
    const [approval] = await server.suspended.waitingFor('user@example.com')
    const other = { ...person, user: 'other@example.com' }
    await assert.rejects(server.suspended.decide(other, approval!.id, 'approve'), { code: 'not_found' })
    await assert.rejects(server.suspended.find('other@example.com', approval!.id), { code: 'not_found' })
    await server.suspended.decide(person, approval!.id, 'approve')
    await assert.rejects(server.suspended.decide(person, approval!.id, 'deny'), { code: 'conflict' })
    now += 900_001
    assert.match(await text(server), /needs the user's approval/)
    assert.deepEqual(runs, [])
  })

  it('belongs to the client that asked: another client of the user does not get it', async (t) => {
    const runs: unknown[] = []
    const server = await startServer(t, {
      tools: [wipeTool(runs)],
      confirm: { wipe: 'page' },
      principals: { second: { user: 'user@example.com', client: { id: 'client-2', name: 'Another' } } },
    })
    await text(server)
    const [first] = await server.suspended.waitingFor('user@example.com')
    await server.suspended.decide(person, first!.id, 'approve')
    assert.match(await text(server, call, { token: 'second' }), /needs the user's approval/)
    assert.deepEqual(runs, [])
  })

  it('takes the place of a form when the client cannot show one', async (t) => {
    const runs: unknown[] = []
    const server = await startServer(t, { tools: [wipeTool(runs)], confirm: { wipe: 'client' } })
    assert.match(await text(server), /\/approvals\//)
    assert.match(await text(server, call, { revision: modern }), /\/approvals\//)
    assert.deepEqual(runs, [])
  })

  it('takes the place of a form that could not show the whole call', async (t) => {
    const runs: unknown[] = []
    const server = await startServer(t, { tools: [wipeTool(runs)], confirm: { wipe: 'client' } })
    const options: CallOptions = { revision: modern, capabilities: { elicitation: { form: {} } } }
    const long = { name: 'wipe', arguments: { thing: `${'x'.repeat(3000)} and everything else` } }
    assert.match(await text(server, long, options), /\/approvals\//)
    const hidden = { name: 'wipe', arguments: { thing: 'a\u202eb' } }
    const { json } = await server.call('tools/call', hidden, options)
    assert.match(json.result.inputRequests['assistant_core.confirm'].params.message, /a⟨U\+202E⟩b/)
    assert.deepEqual(runs, [])
  })

  it('sends a client that can open pages there, and waits for the decision', async (t) => {
    const { server, runs } = await setup(t)
    const options: CallOptions = { revision: modern, capabilities: { elicitation: { url: {} } } }
    const first = await server.call('tools/call', call, options)
    const question = first.json.result.inputRequests['assistant_core.approve']
    assert.equal(question.params.mode, 'url')
    const [approval] = await server.suspended.waitingFor('user@example.com')
    assert.equal(question.params.url, server.suspended.urlOf(approval!))
    const second = server.call(
      'tools/call',
      {
        ...call,
        inputResponses: { 'assistant_core.approve': { action: 'accept' } },
        requestState: first.json.result.requestState,
      },
      options,
    )
    while (server.events.length < 1) await new Promise((resolve) => setTimeout(resolve, 5))
    await server.suspended.decide(person, approval!.id, 'approve')
    assert.equal((await second).json.result.content[0].text, 'wiped')
    assert.equal(runs.length, 1)
  })

  it('lets no user pile up questions without end', async (t) => {
    const { server } = await setup(t)
    for (let i = 0; i < 50; i++) await text(server, { name: 'wipe', arguments: { thing: String(i) } })
    const { json } = await server.call('tools/call', { name: 'wipe', arguments: { thing: 'one more' } })
    assert.equal(json.error.code, -32603)
    assert.match(json.error.message, /too many calls wait/)
    assert.equal((await server.suspended.waitingFor('user@example.com')).length, 50)
  })
})
