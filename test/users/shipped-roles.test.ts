/** Every role that is shipped opens something: a role that no rule uses promises what is not true. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { searchAuditTool } from '../../src/tools/reading/search-audit.ts'
import { optionalTools } from '../../src/tools/gate/optional-tools.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { readToolSettings } from '../../src/tools/gate/read-tools.ts'
import { readSite } from '#site/read-site.ts'
import type { Fault } from '#site/site-files.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { root } from '../documents/trading-company.ts'

describe('the shipped roles', () => {
  it('are each used by a rule, a report, a workflow or a profile of tools', async () => {
    const files = await readSite(root)
    const faults: Fault[] = []
    const people = readPeople(files, faults)
    const platform = readPlatform(files, faults, people)
    const names = [...builtInTools.map(({ name }) => name), ...optionalTools]
    const { profiles } = readToolSettings(files, faults, { names, people })
    assert.deepEqual(faults, [])
    const used = new Set([
      ...[...platform.doctypes.values()].flatMap(({ rules }) => rules.map(({ role }) => role)),
      ...[...platform.reports.values()].flatMap(({ roles }) => roles),
      ...[...platform.workflows.values()].flatMap(({ transitions }) =>
        transitions.flatMap(({ roles }) => roles),
      ),
      ...profiles.flatMap(({ roles }) => roles),
    ])
    assert.deepEqual(
      [...people.roles.keys()].filter((role) => !used.has(role)),
      [],
    )
  })

  it('let the Auditor read the documents of the business and search the log', async () => {
    const files = await readSite(root)
    const faults: Fault[] = []
    const { doctypes } = readPlatform(files, faults, readPeople(files, faults))
    for (const name of ['Customer', 'Employee', 'Purchase Order', 'Sales Order', 'Supplier']) {
      const rule = doctypes.get(name)?.rules.find(({ role }) => role === 'Auditor')
      assert.deepEqual([...(rule?.actions ?? [])].sort(), ['read', 'report'], name)
    }
    const audit = { place: new FileLedger(''), settled: () => Promise.resolve() }
    assert.deepEqual(searchAuditTool(audit, { now: () => 0 }).roles, ['Auditor'])
  })
})
