import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { readSeeds } from '../../src/documents/platform/read-seeds.ts'
import { loadSeeds } from '../../src/documents/platform/seeds.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { openCompany, siteOf } from './trading-company.ts'

const doctype =
  'doctype: Thing\nnaming: { rule: series, series: "T-###" }\nfields: [{ fieldname: size, type: number, required: true }]'

describe('seeds', () => {
  it('are made once, and never into a state that has documents', async (t) => {
    const files = siteOf({
      'config/doctypes/thing.yaml': doctype,
      'config/seeds/a.yaml': 'seeds: [{ doctype: Thing, count: 3, fields: { size: { number: [1, 9] } } }]',
    })
    const { documents, platform, events } = await openCompany(t, { files, seeds: false })
    const seeds = readSeeds(files, [], platform)
    assert.equal(await loadSeeds(documents, seeds), 3)
    assert.deepEqual(
      events.map(({ type, data }) => [type, data]),
      [['document.seed', { documents: 3 }]],
    )
    assert.equal(await loadSeeds(documents, seeds), 0)
  })

  it('are all or nothing, and tell the line of the one that no rule lets in', async (t) => {
    const files = siteOf({
      'config/doctypes/thing.yaml': `${doctype}\nvalidations: [{ rule: "size < 100", message: size must stay below 100 }]`,
      'config/seeds/a.yaml':
        'seeds:\n  - { doctype: Thing, records: [{ size: 1 }] }\n  - { doctype: Thing, count: 2, fields: { size: { cycle: [1, 900] } } }',
    })
    const { documents, platform, events } = await openCompany(t, { files, seeds: false })
    await assert.rejects(loadSeeds(documents, readSeeds(files, [], platform)), {
      code: 'invalid',
      message:
        /^seeds cannot be loaded:\n  config\/seeds\/a\.yaml:3:49 seeds\[1\]\.fields\.size: Thing, number 2: size must stay below 100$/,
    })
    assert.deepEqual(documents.store.stats().documents['document.thing'] ?? 0, 0)
    assert.deepEqual(events, [])
  })

  it('are checked with places before anything is made', () => {
    const files = siteOf({
      'config/doctypes/thing.yaml': doctype,
      'config/seeds/a.yaml':
        'seeds:\n  - { doctype: Thong, count: 1 }\n  - { doctype: Thing, count: 1, fields: { sise: 1, size: { numbr: [1, 2] } } }',
    })
    const faults: Fault[] = []
    const platform = readPlatform(files, faults, readPeople(files, []))
    readSeeds(files, faults, platform)
    assert.deepEqual(faults.map(faultText), [
      'config/seeds/a.yaml:2:16 seeds[0].doctype: unknown doctype "Thong"; did you mean "Thing"?',
      'config/seeds/a.yaml:3:43 seeds[1].fields.sise: unknown field "sise"; did you mean "size"?',
      'config/seeds/a.yaml:3:67 seeds[1].fields.size.numbr: unknown key; did you mean "number"?',
    ])
  })
})
