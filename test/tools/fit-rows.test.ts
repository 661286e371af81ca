import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { fitRows } from '../../src/tools/gate/fit-rows.ts'
import { sales } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'

describe('rows', () => {
  it('are cut whole to the byte budget, with all that is needed to go on', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ text: fc.string({ maxLength: 300, unit: 'grapheme' }) }), { maxLength: 60 }),
        fc.nat(50),
        fc.nat(100),
        (rows, offset, further) => {
          const total = offset + rows.length + further
          const result = fitRows({ data: rows }, 'data', { total, offset }, 3000) as Record<string, any>
          assert.ok(Buffer.byteLength(JSON.stringify(result)) <= 3000 || result['count'] === 1)
          assert.deepEqual(result['data'], rows.slice(0, result['count']))
          assert.equal(result['has_more'], offset + result['count'] < total)
          assert.equal(result['next_offset'], result['has_more'] ? offset + result['count'] : undefined)
          assert.ok(rows.length === 0 || result['count'] > 0)
        },
      ),
    )
  })

  it('of a list can be read to the end, each once, under a small budget', async (t) => {
    const { answer } = await openOffice(t, { limits: { max_result_bytes: 2000 }, toolsYaml: '{}' })
    const seen: string[] = []
    let offset: number | undefined = 0
    while (offset !== undefined) {
      const page: Record<string, any> = await answer(sales, 'list_documents', {
        doctype: 'Customer',
        fields: ['*'],
        limit: 40,
        offset,
      })
      assert.equal(page['total_count'], 60)
      seen.push(...page['data'].map((row: { name: string }) => row.name))
      offset = page['next_offset']
    }
    assert.equal(seen.length, 60)
    assert.equal(new Set(seen).size, 60)
  })
})
