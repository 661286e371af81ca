/** One life of a suspended call: whose it is, what settles it, what uses it up, how large it may be. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { AuditEvent } from '#audit/audit.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../src/core/principal.ts'
import { SuspendedCalls } from '../../src/mcp/waiting/suspended-calls.ts'
import type { OfferedTool } from '../../src/tools/gate/catalogue.ts'
import { someone } from '../documents/trading-company.ts'
import { openStore, temporaryFolder, testClock, testLog } from '../../packages/state/test/state-folder.ts'

const mine = { ...someone('ann@example.com'), client: { id: 'app-a', name: 'A' } }
const throughAnother = { ...mine, client: { id: 'app-b', name: 'B' } }
const { client: _, ...byKey } = mine
const another = { ...mine, user: 'bob@example.com' }
const wipe = { tool: { name: 'wipe', title: 'Wipe' }, annotations: { destructiveHint: true } } as OfferedTool

async function open(t: TestContext) {
  const events: AuditEvent[] = []
  const audit = {
    record: async (event: AuditEvent) => void events.push(event),
    recordIn: async (_: unknown, event: AuditEvent) => void events.push(event),
    requireWritable: () => {},
  }
  const clock = testClock()
  const store = await openStore(t, await temporaryFolder(t), { clock, log: testLog() })
  const calls = new SuspendedCalls({ store, clock, audit, pageOf: (id) => `https://here.example/${id}` })
  return { calls, clock, events, audit }
}

const refused = (code: string, why: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === code && why.test(error.message)

describe('a question to a client', () => {
  const rows: readonly (readonly [says: string, who: Principal, settled: boolean])[] = [
    ['is answered by the client that was asked', mine, true],
    ['is not answered by another client of the same user', throughAnother, false],
    ['is not answered by an API key of the same user', byKey, false],
    ['is not answered by the client of another user', another, false],
  ]
  for (const [says, who, settled] of rows)
    it(says, async (t) => {
      const { calls } = await open(t)
      const { id } = await calls.question(mine, 'key', ['name'], {})
      await calls.answer(who, id, 'answered', { name: 'Ada' })
      const found = await calls.resume('key', id)
      assert.deepEqual(
        [found?.state, found?.answers],
        settled ? ['answered', { name: 'Ada' }] : ['pending', {}],
      )
    })

  it('keeps its first answer, is used up by exactly its call, and once', async (t) => {
    const { calls } = await open(t)
    const { id } = await calls.question(mine, 'key', ['name'], {})
    await Promise.all([
      calls.answer(mine, id, 'denied', {}),
      calls.answer(mine, id, 'answered', { name: 'Eve' }),
    ])
    await calls.answer(mine, id, 'answered', { name: 'Eve' })
    assert.equal(await calls.resume('another key', id), undefined)
    assert.equal((await calls.resume('key', id))?.state, 'denied')
    assert.equal(await calls.resume('key', id), undefined)
  })

  it('ends after ten minutes, makes room with the oldest of fifty, and has answers of 64 KiB at most', async (t) => {
    const { calls, clock } = await open(t)
    const ids: string[] = []
    for (let n = 0; n < 51; n++) {
      ids.push((await calls.question(mine, 'key', [], {})).id)
      clock.advance(1)
    }
    assert.equal(await calls.resume('key', ids[0]), undefined)
    assert.equal((await calls.resume('key', ids[1]))?.id, ids[1])
    clock.advance(600_000)
    assert.equal(await calls.resume('key', ids[2]), undefined)
    await calls.question(mine, 'key', [], { a: 'x'.repeat(65_536 - 8) })
    const tooLong = calls.question(mine, 'key', [], { a: 'x'.repeat(65_536 - 7) })
    await assert.rejects(tooLong, refused('invalid', /answers are too long to be kept/))
  })
})

describe('an approval', () => {
  const rows: readonly (readonly [
    says: string,
    who: Principal,
    args: unknown,
    decision: string | undefined,
    tool?: string,
  ])[] = [
    [
      'decides the call that asked for it, whatever the order of its arguments',
      mine,
      { b: [1], a: 2 },
      'approved',
    ],
    ['decides no call of another tool with the same arguments', mine, { a: 2, b: [1] }, undefined, 'erase'],
    ['decides no call with other arguments', mine, { a: 2, b: [2] }, undefined],
    ['decides no call of another client', throughAnother, { a: 2, b: [1] }, undefined],
    ['decides no call of an API key', byKey, { a: 2, b: [1] }, undefined],
    ['decides no call of another user', another, { a: 2, b: [1] }, undefined],
  ]
  for (const [says, who, args, decision, tool = 'wipe'] of rows)
    it(says, async (t) => {
      const { calls } = await open(t)
      const { id } = await calls.request(mine, wipe, { a: 2, b: [1] }, { a: 2, b: [1] } as never)
      assert.equal(await calls.decision(mine, 'wipe', { a: 2, b: [1] }), undefined, 'nobody has decided')
      await calls.decide(mine, id, 'approve')
      assert.equal(await calls.decision(who, tool, args), decision)
      assert.equal(await calls.decision(who, tool, args), undefined, 'it is used up')
    })

  it('is for its user alone to see and decide, once, and tells the log with the arguments', async (t) => {
    const { calls, events } = await open(t)
    const ask = async (): Promise<string> =>
      (await calls.request(mine, wipe, { thing: 'disk' }, { thing: 'disk' } as never)).id
    const [id, atOnce] = await Promise.all([ask(), ask()])
    assert.equal(atOnce, id, 'of two that ask at once, one asks')
    assert.equal(
      (await calls.request(mine, wipe, { thing: 'disk' }, { thing: 'disk' } as never)).id,
      id,
      'asking again asks nothing new',
    )
    const unknown = refused('not_found', /no such approval/)
    await assert.rejects(calls.find(another.user, id), unknown)
    await assert.rejects(calls.decide(another, id, 'approve'), unknown)
    await calls.decide(mine, id, 'deny')
    assert.deepEqual(await calls.waitingFor(mine.user), [], 'what is decided waits no more')
    await assert.rejects(calls.decide(mine, id, 'approve'), refused('conflict', /was denied already/))
    assert.equal(await calls.decision(mine, 'wipe', { thing: 'disk' }), 'denied')
    const told = events.map(({ type, status, user, data }) => [type, status, user, data?.['arguments']])
    assert.deepEqual(told, [
      ['tool.approval_request', 'ok', mine.user, { thing: 'disk' }],
      ['tool.deny', 'denied', mine.user, { thing: 'disk' }],
    ])
  })

  it('is no question: its client neither answers nor resumes it, and no question is decided on a page', async (t) => {
    const { calls, events } = await open(t)
    const { id, key } = await calls.request(mine, wipe, {}, {} as never)
    await calls.answer(mine, id, 'answered', {})
    assert.equal(await calls.resume(key, id), undefined)
    assert.equal((await calls.find(mine.user, id)).state, 'pending')
    const question = await calls.question(mine, 'key', [], {})
    const unknown = refused('not_found', /no such approval/)
    await assert.rejects(calls.find(mine.user, question.id), unknown)
    await assert.rejects(calls.decide(mine, question.id, 'approve'), unknown)
    assert.equal((await calls.resume('key', question.id))?.state, 'pending')
    assert.equal(events.length, 1, 'the log knows of the request alone')
  })

  it('is neither asked for nor decided while the log cannot be written', async (t) => {
    const { calls, events, audit } = await open(t)
    const { id } = await calls.request(mine, wipe, {}, {} as never)
    audit.requireWritable = () => {
      throw new AppError('unavailable', 'the log is full')
    }
    const full = refused('unavailable', /the log is full/)
    await assert.rejects(calls.decide(mine, id, 'approve'), full)
    await assert.rejects(calls.request(mine, wipe, { n: 1 }, { n: 1 } as never), full)
    assert.deepEqual(
      (await calls.waitingFor(mine.user)).map((one) => [one.id, one.state]),
      [[id, 'pending']],
    )
    assert.equal(events.length, 1)
  })

  it('is refused for arguments of more than 64 KiB and beside fifty others, and nothing is kept or told', async (t) => {
    const { calls, events } = await open(t)
    const args = (characters: number): object => ({ a: 'x'.repeat(characters - '{"a":""}'.length) })
    await assert.rejects(
      calls.request(mine, wipe, args(65_537), {} as never),
      refused('invalid', /arguments are too long to be shown/),
    )
    assert.deepEqual([await calls.waitingFor(mine.user), events], [[], []])
    await calls.request(mine, wipe, args(65_536), {} as never)
    for (let n = 1; n < 50; n++) await calls.request(mine, wipe, { n }, { n } as never)
    await assert.rejects(
      calls.request(mine, wipe, { n: 50 }, { n: 50 } as never),
      refused('unavailable', /too many calls wait/),
    )
    assert.deepEqual([(await calls.waitingFor(mine.user)).length, events.length], [50, 50])
  })
})
