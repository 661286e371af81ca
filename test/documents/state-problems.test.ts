import { getDocument } from '../../src/documents/asking/reading.ts'
import { createDocument } from '../../src/documents/writing/creating.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPlatform } from '../../src/documents/platform/read-platform.ts'
import { stateProblems } from '../../src/documents/state-problems.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { openCompany, siteOf, someone } from './trading-company.ts'

const clerk = someone('clerk@example.com', 'Clerk')
const head =
  'doctype: Thing\nnaming: { rule: prompt }\npermissions: [{ role: Clerk, actions: [read, create] }]\n'

describe('a site over documents that are there', () => {
  it('the shipped one fits', async (t) => {
    const { documents } = await openCompany(t)
    assert.deepEqual(await stateProblems(documents), [])
  })

  it('is told what no longer fits, with the line and some names, and nothing is changed', async (t) => {
    const before = `${head}fields: [{ fieldname: a, type: text }, { fieldname: b, type: text }, { fieldname: c, type: select, options: [x, y] }, { fieldname: gone, type: text }]`
    const after = `${head}fields:\n  - { fieldname: a, type: number }\n  - { fieldname: b, type: text, unique: true }\n  - { fieldname: c, type: select, options: [x] }\n  - { fieldname: d, type: text, required: true }`
    const { documents } = await openCompany(t, { files: siteOf({ 'config/doctypes/thing.yaml': before }) })
    for (const name of ['one', 'two'])
      await createDocument(documents, clerk, 'Thing', { name, a: 'word', b: 'same', c: 'y', gone: 'g' })
    const files = siteOf({ 'config/doctypes/thing.yaml': after })
    const platform = readPlatform(files, [], readPeople(files, []))
    const problems = await stateProblems({ ...documents, platform })
    assert.deepEqual(
      problems
        .map(({ field, count, message, source }) => [field, count, message, source])
        .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      [
        ['a', 2, 'must be a number', 'config/doctypes/thing.yaml:5'],
        ['b', 1, 'is unique now, and this value is there twice', 'config/doctypes/thing.yaml:6'],
        ['c', 2, 'must be one of x', 'config/doctypes/thing.yaml:7'],
        ['d', 2, 'is required now, and has no value', 'config/doctypes/thing.yaml:8'],
        [
          'gone',
          2,
          'is no field any more; its values are kept but not shown',
          'config/doctypes/thing.yaml:1',
        ],
      ],
    )
    assert.deepEqual(problems[0]!.examples, ['one', 'two'])
    assert.equal((await getDocument(documents, clerk, 'Thing', 'one'))['gone'], 'g')
  })
})
