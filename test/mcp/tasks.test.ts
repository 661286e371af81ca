/** Calls that become tasks (SEP-2663), for clients that declare the extension. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Stop } from '#leaf/stop.ts'
import { taskRecords, Tasks } from '../../src/mcp/waiting/tasks.ts'
import { defineTool, type Tool } from '../../src/tools/tool.ts'
import { MovableClock } from '../oauth/server.ts'
import { type CallOptions, modern, startServer, type TestServer } from './server.ts'

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const at = { revision: modern, capabilities: tasks } satisfies CallOptions
const nothing = { type: 'object', properties: {} } as const

/** A tool that goes on until it is let. */
function gated(): { tool: Tool; open: () => void; ended: () => string } {
  let open = (): void => {}
  let ended = 'no'
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const tool = defineTool({
    name: 'slow',
    title: 'Slow',
    description: 'Goes on until it is let.',
    category: 'read_only',
    input: nothing,
    run: async (_, { signal }) => {
      await Promise.race([gate, new Promise((resolve) => signal.addEventListener('abort', resolve))])
      ended = signal.aborted ? 'aborted' : 'done'
      return { answer: 42 }
    },
  })
  return { tool, open, ended: () => ended }
}

async function begun(server: TestServer, options: CallOptions = at): Promise<string> {
  const { json } = await server.call('tools/call', { name: 'slow' }, options)
  assert.equal(json.result.resultType, 'task', JSON.stringify(json))
  assert.deepEqual(
    [json.result.status, json.result.ttlMs, 'result' in json.result],
    ['working', 3_600_000, false],
  )
  return json.result.taskId as string
}

async function stands(server: TestServer, taskId: string, wanted: string): Promise<any> {
  for (let tries = 0; tries < 200; tries++) {
    const { json } = await server.call('tasks/get', { taskId }, at)
    if (json.result?.status === wanted) return json.result
    await delay(50)
  }
  throw new Error(`the task never was ${wanted}`)
}

describe('a call that takes long', () => {
  it('is a task for a client that declares it, with the result of the call', async (t) => {
    const { tool, open } = gated()
    const server = await startServer(t, { tools: [tool] })
    const taskId = await begun(server)
    assert.equal((await stands(server, taskId, 'working')).taskId, taskId)
    open()
    const { result } = await stands(server, taskId, 'completed')
    assert.deepEqual(result, { content: [{ type: 'text', text: '{"answer":42}' }], isError: false })
    assert.equal(
      server.events.filter(({ type, status }) => type === 'tool.call' && status === 'ok').length,
      1,
    )
  })

  it('is answered as ever to all others, and so is one that is quick', async (t) => {
    const { tool, open } = gated()
    const server = await startServer(t, { tools: [tool] })
    const waits = server.call('tools/call', { name: 'slow' }, { revision: modern })
    const legacy = server.call('tools/call', { name: 'slow' })
    await delay(1000)
    open()
    assert.equal((await waits).json.result.resultType, 'complete')
    assert.equal((await legacy).json.result.content[0].text, '{"answer":42}')
    const quick = await server.call('tools/call', { name: 'slow' }, at)
    assert.equal(quick.json.result.resultType, 'complete')
    assert.equal(await server.store.collection(taskRecords).count(), 0)
  })

  it("is nobody else's: another user and another client find nothing", async (t) => {
    const { tool, ended } = gated()
    const client = (id: string) => ({ client: { id, name: id } })
    const server = await startServer(t, {
      tools: [tool],
      principals: {
        mine: client('a'),
        other: client('b'),
        stranger: { user: 'x@example.com', ...client('a') },
      },
    })
    const taskId = await begun(server, { ...at, token: 'mine' })
    for (const token of ['other', 'stranger', 'nobody'])
      for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
        const { json } = await server.call(method, { taskId, inputResponses: {} }, { ...at, token })
        assert.equal(json.error.code, -32602, `${method} ${token}`)
        assert.match(json.error.message, /no such task/)
      }
    assert.equal(ended(), 'no')
    const mine = await server.call('tasks/get', { taskId }, { ...at, token: 'mine' })
    assert.equal(mine.json.result.status, 'working')
  })

  it('gave its answer for an hour to a user who had lost the role it was made with; now it can only be cancelled', async (t) => {
    const { tool, open } = gated()
    const user = 'lou@example.com'
    const server = await startServer(t, {
      tools: [tool],
      principals: { manager: { user, roles: new Set(['Assistant User', 'HR Manager']) }, later: { user } },
    })
    const taskId = await begun(server, { ...at, token: 'manager' })
    const asked = async (token: string) => (await server.call('tasks/get', { taskId }, { ...at, token })).json
    assert.match((await asked('later')).error.message, /roles of the user have changed/)
    open()
    for (let tries = 0; tries < 200 && (await asked('manager')).result.status !== 'completed'; tries++)
      await delay(50)
    const before = server.events.length
    const refused = await asked('later')
    assert.deepEqual([refused.error.code, refused.result], [-32602, undefined])
    const { json } = await server.call('tasks/cancel', { taskId }, { ...at, token: 'later' })
    assert.equal(json.result.resultType, 'complete')
    // Nothing came of either: the task is as it was, and its call was told when it was made.
    assert.equal((await asked('manager')).result.result.content[0].text, '{"answer":42}')
    assert.equal(server.events.length, before)
  })

  it('ends when its owner cancels it, once', async (t) => {
    const { tool, ended } = gated()
    const server = await startServer(t, { tools: [tool] })
    const taskId = await begun(server)
    for (let times = 0; times < 2; times++) {
      const { json } = await server.call('tasks/cancel', { taskId }, at)
      assert.equal(json.result.resultType, 'complete')
      assert.equal('status' in json.result, false)
    }
    await stands(server, taskId, 'cancelled')
    assert.equal(ended(), 'aborted')
    assert.equal(server.events.at(-1)?.status, 'cancelled')
  })

  it('ends when the right to run it ends', async (t) => {
    const { tool, ended } = gated()
    const server = await startServer(t, { tools: [tool] })
    const taskId = await begun(server)
    server.running.endWhere(() => true)
    await stands(server, taskId, 'cancelled')
    assert.equal(ended(), 'aborted')
  })

  it('asks its client while it runs, and takes answers one by one', async (t) => {
    const question = (message: string) => ({
      method: 'elicitation/create' as const,
      params: { message, requestedSchema: { type: 'object', properties: { n: { type: 'integer' } } } },
    })
    const slow = defineTool({
      name: 'slow',
      title: 'Slow',
      description: 'Asks twice.',
      category: 'read_only',
      input: nothing,
      run: async (_, { ask }) => {
        await delay(1000)
        const first = await ask({ a: question('a'), b: question('b') })
        const second = await ask({ a: question('again') })
        return { first, second }
      },
    })
    const server = await startServer(t, { tools: [slow] })
    const options = { ...at, capabilities: { ...tasks, elicitation: {} } }
    const taskId = await begun(server, options)
    const asked = await stands(server, taskId, 'input_required')
    assert.deepEqual(Object.keys(asked.inputRequests), ['a', 'b'])
    const answer = (inputResponses: object) => server.call('tasks/update', { taskId, inputResponses }, at)
    const accept = (n: unknown) => ({ action: 'accept', content: { n } })
    await answer({ a: accept('no number'), nobody: accept(1) })
    await answer({ a: accept(1) })
    const left = await stands(server, taskId, 'input_required')
    assert.deepEqual(Object.keys(left.inputRequests), ['b'])
    await answer({ a: accept(7), b: accept(2) })
    for (let tries = 0; tries < 100; tries++) {
      const { json } = await server.call('tasks/get', { taskId }, at)
      if ('a.2' in (json.result.inputRequests ?? {})) break
      await delay(50)
    }
    await answer({ 'a.2': accept(3) })
    const { result } = await stands(server, taskId, 'completed')
    const said = JSON.parse(result.content[0].text)
    assert.deepEqual(
      [said.first.a.content, said.first.b.content, said.second.a.content],
      [{ n: 1 }, { n: 2 }, { n: 3 }],
    )
  })

  it('waits for the decision on a page, and its client is told where', async (t) => {
    const { tool, open } = gated()
    open()
    const server = await startServer(t, { tools: [tool], confirm: { slow: 'page' } })
    const taskId = await begun(server)
    const { statusMessage } = await stands(server, taskId, 'working')
    const [approval] = await server.suspended.waitingFor('user@example.com')
    assert.ok(approval && statusMessage.includes(server.suspended.urlOf(approval)), statusMessage)
    const { json } = await server.call('tasks/get', { taskId }, at)
    assert.equal(json.result.status, 'working', 'nothing ran')
    await server.suspended.decide({ ...someUser, user: approval.user }, approval.id, 'approve')
    assert.equal((await stands(server, taskId, 'completed')).result.isError, false)
  })

  it('is refused to clients that did not declare it, and its methods are unknown to older ones', async (t) => {
    const { tool } = gated()
    const server = await startServer(t, { tools: [{ ...tool, onlyAsTask: true }] })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { json, status } = await server.call(method, { taskId: 'x' }, { revision: modern })
      assert.deepEqual([status, json.error.code], [400, -32021])
      assert.deepEqual(json.error.data.requiredCapabilities, tasks)
      assert.equal((await server.call(method, { taskId: 'x' })).json.error.code, -32601)
    }
    const refused = await server.call('tools/call', { name: 'slow' }, { revision: modern })
    assert.equal(refused.json.error.code, -32021)
    // What is not a call of the tool is told, too, and nothing ran.
    assert.deepEqual(
      server.events.map(({ type, target, status }) => [type, target, status]),
      [['tool.call', 'slow', 'error']],
    )
  })

  it('has failed when the daemon that ran it is gone, and is forgotten after an hour', async (t) => {
    const { tool } = gated()
    const clock = new MovableClock()
    const server = await startServer(t, { tools: [tool], clock })
    const taskId = await begun(server)
    const { id, user, client } = (await server.store.collection(taskRecords).first({}))!
    assert.equal(id, taskId)
    const owner = { ...someUser, user, ...(client !== undefined && { client: { id: client, name: client } }) }
    clock.pass(31)
    const another = new Tasks({ store: server.store, clock, running: server.running })
    const found = await another.find(owner, taskId)
    assert.deepEqual(
      [found.status, found.error?.message],
      ['failed', 'the service stopped while the call ran'],
    )
    clock.pass(3600)
    await assert.rejects(another.find(owner, taskId), /no such task/)
  })

  it('is kept after its end while it is among the newest of its user, in number and in size', async (t) => {
    const clock = new MovableClock()
    const { store, running } = await startServer(t, { clock })
    const all = new Tasks({ store, clock, running })
    const ended = async (user: string, characters: number): Promise<string> => {
      clock.pass(1)
      const task = (await all.open({ ...someUser, user }, 'slow', new Stop()))!
      const content = [{ type: 'text', text: 'x'.repeat(characters) }]
      await task.end({ status: 'completed', result: { content } })
      return task.record.id
    }
    const kept = async (user: string): Promise<ReadonlySet<string>> =>
      new Set((await store.collection(taskRecords).find({ where: { user } })).map(({ id }) => id))
    const others = await ended('other@example.com', 3_900_000)
    const small: string[] = []
    for (let n = 0; n < 103; n++) small.push(await ended('ann@example.com', 10))
    assert.deepEqual(await kept('ann@example.com'), new Set(small.slice(3)))
    const large: string[] = []
    for (let n = 0; n < 6; n++) large.push(await ended('ann@example.com', 3_900_000))
    assert.deepEqual(await kept('ann@example.com'), new Set(large.slice(2)))
    await assert.rejects(all.find({ ...someUser, user: 'ann@example.com' }, large[0]!), /no such task/)
    assert.deepEqual(await kept('other@example.com'), new Set([others]))
  })

  it('goes on without a task where a user has fifty', async (t) => {
    const { tool, open } = gated()
    const server = await startServer(t, {
      tools: [tool],
      settings: ({ tools }) => Object.assign(tools, { max_concurrent_per_user: 100 }),
    })
    const fifty = await Promise.all(Array.from({ length: 50 }, () => begun(server)))
    assert.equal(new Set(fifty).size, 50)
    const more = server.call('tools/call', { name: 'slow' }, at)
    await delay(1200)
    open()
    assert.equal((await more).json.result.resultType, 'complete')
  })
})

const someUser = { fullName: 'x', roles: new Set<string>(), roleKey: '', scopes: [], requestId: 'r' }
