/**
 * The official MCP conformance suite at every revision that it can test. Every scored check passes; there is no
 * list of expected failures. What the suite itself does not score (the tasks extension) is not run.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { skillOf, startServer } from '../mcp/server.ts'
import { conformanceExtras } from './fixtures.ts'
import { startProxy } from './proxy.ts'
import { runSuite } from './suite.ts'

const skills = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory']

describe('the official conformance suite', () => {
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
      const url = await startTarget(t)
      const run = await runSuite(url, args)
      t.diagnostic(`${title}: ${run.scenarios} scenarios, ${JSON.stringify(run.counts)}`)
      for (const warning of run.warnings) t.diagnostic(`warning: ${warning}`)
      assert.deepEqual(run.failures, [], run.output)
      assert.ok((run.counts['SUCCESS'] ?? 0) >= atLeast, `only ${JSON.stringify(run.counts)}\n${run.output}`)
    })
  }

  it('passes everything of 2026-07-28 but the tasks extension, which is not offered', async (t) => {
    const url = await startTarget(t)
    const run = await runSuite(url, ['--requirements', '2026-07-28'])
    t.diagnostic(`2026-07-28: ${run.scenarios} scenarios, ${JSON.stringify(run.counts)}`)
    for (const warning of run.warnings) t.diagnostic(`warning: ${warning}`)
    assert.deepEqual(
      run.failures.filter((failure) => !failure.startsWith('tasks-')),
      [],
      run.output,
    )
    assert.ok(run.counts['SUCCESS']! > 100, run.output)
    assert.equal(run.exitCode, 0, run.output)
  })
})

async function startTarget(t: Parameters<typeof startProxy>[0]): Promise<string> {
  const extras = conformanceExtras()
  const server = await startServer(t, {
    tools: extras.tools!,
    extras,
    skills: [
      skillOf('demo', {
        'SKILL.md': '---\nname: demo\ndescription: How to do demo\n---\n\n# Demo\n',
        'references/guide.md': '# Guide\n',
        'assets/pixel.png': Buffer.from('89504e470d0a1a0a', 'hex'),
      }),
    ],
  })
  return startProxy(t, server.url, 'user')
}
