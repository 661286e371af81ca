import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { AppError } from '#leaf/errors.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { siteOf, someone } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'

const roles = ['Clerk', 'Boss', 'Guest', 'System Manager']
const names = ['read_a', 'read_b', 'write_a', 'write_b']

const some = fc.option(fc.subarray(roles.slice(0, 3), { minLength: 1 }), { nil: undefined })
const plan = fc.record({
  own: fc.array(some, { minLength: 4, maxLength: 4 }),
  settings: fc.dictionary(
    fc.constantFrom(...names, 'read_*', 'write_*'),
    fc.record({
      enabled: fc.boolean(),
      roles: fc.option(fc.oneof(fc.constant('all'), fc.subarray(roles.slice(0, 3))), { nil: undefined }),
    }),
  ),
  profiles: fc.dictionary(
    fc.constantFrom('p', 'q'),
    fc.record({ roles: some, tools: fc.subarray([...names, 'read_*', '*'], { minLength: 1 }) }),
  ),
  mine: fc.subarray(roles),
  limit: fc.option(fc.subarray([...names, 'write_*']), { nil: undefined }),
})

describe('a tool', () => {
  it('is listed exactly when it can be called, whatever the settings, profiles, roles and client', async (t) => {
    const seen = { listed: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(plan, async ({ own, settings, profiles, mine, limit }) => {
        const tools = names.map((name, index): Tool => ({
          name,
          title: name,
          description: 'x',
          category: 'read_only',
          input: { type: 'object' },
          ...(own[index] && { roles: own[index] }),
          run: () =>
            name === 'read_b'
              ? Promise.reject(new AppError('not_found', 'nothing'))
              : Promise.resolve('done'),
        }))
        const files = siteOf({
          'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]',
        })
        const office = await openOffice(t, {
          files,
          tools,
          toolsYaml: JSON.stringify({ tools: settings, profiles }),
        })
        const who = { ...someone('x@example.com', ...mine), ...(limit && { toolLimit: limit }) }
        const listed = new Set(office.catalogue.offered(who).map(({ tool }) => tool.name))
        for (const name of names) {
          const outcome = await office.call(who, name)
          const ran = outcome.text === 'done' || outcome.text === 'nothing'
          assert.equal(ran, listed.has(name), `${name}: ${outcome.text}`)
          seen[ran ? 'listed' : 'refused']++
        }
        assert.ok(
          [...listed].every(
            (name) =>
              !limit || limit.includes(name) || (name.startsWith('write_') && limit.includes('write_*')),
          ),
        )
      }),
      { numRuns: 60 },
    )
    assert.ok(seen.listed > 0 && seen.refused > 0, JSON.stringify(seen))
  })
})
