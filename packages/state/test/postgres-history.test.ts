/** What is asked of a server, by what was seen of others. Real servers: `packages/audit/test/older-server`. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { sha256 } from '#leaf/secrets.ts'
import { type FirstRowOf, KnownHistory } from '#state/postgres/servers/history.ts'
import { temporaryFolder, testLog } from './state-folder.ts'

/** A server as it answers. */
interface Answers {
  readonly ledger?: string
  readonly last?: number
  readonly system?: string
  readonly timeline?: number
}

const line = (seq: number): string => `line ${seq}`
const end = (seq: number) => ({ writer: 'w', seq, hash: sha256(line(seq)) })

function serverOf({ ledger = 'one', last = 10, system = 's', timeline = 1 }: Answers): FirstRowOf {
  return async (text, [, seq] = []) => {
    if (text.includes('to_regclass')) return [ledger !== '']
    if (text.includes('pg_control_system')) return [system, String(timeline)]
    return [ledger, String(last), Number(seq) <= last ? line(Number(seq)) : null]
  }
}

async function seen(t: TestContext, answers: Answers, seq = 10): Promise<string> {
  const folder = await temporaryFolder(t)
  const history = await KnownHistory.open(folder, testLog())
  await history.require(1, serverOf(answers))
  history.reached(end(seq))
  await history.keep()
  return folder
}

describe('the history of a database that was seen', () => {
  const cases: readonly (readonly [what: string, server: Answers, told: RegExp | undefined])[] = [
    ['all of it', {}, undefined],
    ['more', { last: 12, timeline: 3 }, undefined],
    [
      'lines that are missing',
      { last: 7, timeline: 3 },
      /10 .* had been written, and there they end at line 7: 3/,
    ],
    ['an older timeline', { timeline: 1 }, /timeline 1, and timeline 2 was seen/],
    ['another system, whose timelines say nothing', { system: 'copy', timeline: 1 }, undefined],
    ['another system that lacks lines', { system: 'copy', last: 0 }, /end at line 0: 10 are missing/],
    ['another ledger, of which nothing is known', { ledger: 'two', last: 0, timeline: 1 }, undefined],
    ['no ledger yet', { ledger: '', timeline: 1 }, undefined],
  ]
  for (const [what, server, told] of cases)
    it(`is held against a server with ${what}`, async (t) => {
      const history = await KnownHistory.open(await seen(t, { timeline: 2 }), testLog())
      const asking = history.require(2, serverOf({ timeline: 2, ...server }))
      if (told) await assert.rejects(asking, told)
      else await asking
      assert.equal(history.lacking !== undefined, told !== undefined)
    })

  it('tells a line that was replaced by another', async (t) => {
    const history = await KnownHistory.open(await seen(t, {}), testLog())
    history.reached({ ...end(9), hash: 'another' })
    await assert.rejects(history.require(2, serverOf({})), /line 9 .* and there it is another/)
  })

  it('is refused when it cannot be read, rather than forgotten', async (t) => {
    const folder = await seen(t, {})
    const path = join(folder, 'history.json')
    await writeFile(path, (await readFile(path, 'utf8')).slice(0, -5))
    await assert.rejects(
      KnownHistory.open(folder, testLog()),
      /history\.json cannot be used .*; remove it if/,
    )
  })
})
