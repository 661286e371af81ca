/**
 * The official MCP conformance suite at every revision that it can test. Every scored check passes; there is no
 * list of expected failures. What the suite itself does not score (the tasks extension) passes as well.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { runSuite } from './suite.ts'
import { startTarget } from './target.ts'

const skills = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory']

describe('the official conformance suite', () => {
  const cleanup: (() => unknown)[] = []
  let url = ''
  before(async () => {
    url = await startTarget({ after: (undo) => void cleanup.push(undo as () => unknown) })
  })
  after(async () => {
    for (const undo of cleanup.reverse()) await undo()
  })

  const runs: [string, string[], number][] = [
    ['every scenario of 2025-03-26', ['--suite', 'all', '--spec-version', '2025-03-26'], 1],
    ['every scenario of 2025-06-18', ['--suite', 'all', '--spec-version', '2025-06-18'], 45],
    ['every scenario of 2025-11-25', ['--suite', 'all', '--spec-version', '2025-11-25'], 60],
    ['every scenario of 2026-07-28', ['--suite', 'all', '--spec-version', '2026-07-28'], 100],
    ['what 2025-11-25 requires', ['--requirements', '2025-11-25'], 60],
    ...skills.map((scenario): [string, string[], number] => [
      `${scenario} at 2026-07-28`,
      ['--scenario', scenario, '--spec-version', '2026-07-28', '--force'],
      5,
    ]),
    [`${skills[0]} at 2025-11-25`, ['--scenario', skills[0]!, '--spec-version', '2025-11-25', '--force'], 5],
  ]
  for (const [title, args, atLeast] of runs) {
    it(`passes ${title}`, async (t) => {
      const run = await runSuite(url, args)
      t.diagnostic(`${title}: ${run.scenarios} scenarios, ${JSON.stringify(run.counts)}`)
      for (const warning of run.warnings) t.diagnostic(`warning: ${warning}`)
      assert.deepEqual(run.failures, [], run.output)
      assert.ok((run.counts['SUCCESS'] ?? 0) >= atLeast, `only ${JSON.stringify(run.counts)}\n${run.output}`)
    })
  }

  it('passes everything of 2026-07-28 and of the tasks extension', async (t) => {
    const run = await runSuite(url, ['--requirements', '2026-07-28'])
    t.diagnostic(`2026-07-28: ${run.scenarios} scenarios, ${JSON.stringify(run.counts)}`)
    for (const warning of run.warnings) t.diagnostic(`warning: ${warning}`)
    assert.deepEqual(run.failures, [], run.output)
    assert.ok(run.counts['SUCCESS']! > 180, run.output)
    assert.equal(run.exitCode, 0, run.output)
  })
})
