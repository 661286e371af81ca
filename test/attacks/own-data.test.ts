/**
 * One user with no business role fills their own notes, and asks about them: however large what lies there is, the daemon's own
 * thread is not held up, by any question of any tool. What questions take of it is paid from the budget of who asks.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inDatabase, noPostgres, startPostgres } from '../helpers/postgres.ts'
import { own, watchedDaemon } from './lag.ts'
import { textOfCall, tokenOf } from '../helpers/tool-calls.ts'

/** What one turn may take; the monitor's own step is within it. */
const allowed = 250
const rounds = 3
const notes = 400
const length = 100_000

const note = { doctype: 'Note' }
const questions: readonly [tool: string, args: Record<string, unknown>][] = [
  ['aggregate', { ...note, group_by: ['content', 'title'] }],
  ['aggregate', { ...note, group_by: ['content'], metrics: [{ function: 'min', field: 'content' }] }],
  ['list_documents', { ...note, filters: [['content', 'like', '%"b%"c']] }],
  [
    'list_documents',
    { ...note, filters: Array.from({ length: 10 }, (_, n) => ['content', 'like', `%"${n}%"c`]) },
  ],
  ['list_documents', { ...note, fields: ['*'], limit: 1000 }],
  ['list_documents', { ...note, order_by: 'content,title', limit: 1000 }],
  ['count_documents', { ...note, filters: [['content', 'like', '%"b']] }],
  ['search_documents', { query: 'note' }],
  ['query_and_analyze', { query: 'SELECT content FROM note', analysis_type: 'detailed', limit: 1000 }],
  ['query_and_analyze', { query: 'SELECT max(length(content)) FROM note' }],
]

async function onPostgres(t: TestContext): Promise<Record<string, string>> {
  return Object.fromEntries(inDatabase(t, await (await startPostgres(t)).newDatabase()))
}

for (const [kind, settings, skip] of [
  ['in the embedded store', () => Promise.resolve({}), false],
  ['on PostgreSQL', onPostgres, noPostgres ?? false],
] as const)
  describe(`a user's own data ${kind}`, { skip }, () => {
    it('holds nobody else up, however much of it is asked about', async (t) => {
      // What one person may keep and ask in a minute are other limits, which a site may lift.
      const lifted = {
        'max_bytes_per_user: 134217728': 'max_bytes_per_user: 0',
        'enabled: true\n  # MCP requests': 'enabled: false\n  # MCP requests',
      }
      const { daemon, lag } = await watchedDaemon(t, { ...lifted, ...(await settings(t)) })
      const token = await tokenOf(daemon, 'hr@example.com')
      const content = '"'.repeat(length)
      for (let n = 0; n < notes; n += 4)
        await Promise.all(
          [0, 1, 2, 3].map((m) =>
            textOfCall(daemon, token, 'create_document', {
              ...note,
              data: { title: `note ${n + m}`, content },
            }),
          ),
        )
      const [, count] = /count\\":(\d+)/.exec(await textOfCall(daemon, token, 'count_documents', note)) ?? []
      assert.ok(Number(count) >= notes, count)
      const told: string[] = []
      for (let round = 1; round <= rounds; round++) {
        told.length = 0
        for (const [name, args] of questions)
          for (const lanes of [1, 8]) {
            await lag()
            const answers = await Promise.all(
              Array.from({ length: lanes }, () => textOfCall(daemon, token, name, args)),
            )
            const under = await lag()
            const longest = Math.round(own(under, under.max))
            t.diagnostic(`${lanes} × ${name} ${JSON.stringify(args).slice(0, 80)}: ${longest} ms`)
            const unanswered = answers.find((answer) => !answer.includes('"result"'))
            assert.equal(unanswered, undefined, unanswered?.slice(0, 300))
            if (longest >= allowed) told.push(`${lanes} × ${name} ${JSON.stringify(args)}: ${longest} ms`)
          }
        if (told.length === 0) return
      }
      assert.fail(told.join('; '))
    })
  })

describe('a user whose questions keep the service busy', () => {
  it('has fewer of them in a minute, and nobody else has', async (t) => {
    const points = { '  mcp:\n    points: 3000': '  mcp:\n    points: 100' }
    const { daemon } = await watchedDaemon(t, points)
    const [token, other] = await Promise.all([
      tokenOf(daemon, 'hr@example.com'),
      tokenOf(daemon, 'sales@example.com'),
    ])
    for (let n = 0; n < 30; n++) {
      const data = { title: `note ${n}`, content: 'b'.repeat(length) }
      await textOfCall(daemon, token, 'create_document', { ...note, data })
    }
    const [, patterns] = questions[3]!
    let asked = 0
    let answer = ''
    while (!answer.includes('rate_limited') && asked++ < 70)
      answer = await textOfCall(daemon, token, 'list_documents', patterns)
    assert.ok(asked < 50, `${asked} questions, where 70 requests were left`)
    assert.match(answer, /too many requests; try again in \d+ seconds/)
    assert.match(await textOfCall(daemon, other, 'count_documents', note), /count/)
  })
})
