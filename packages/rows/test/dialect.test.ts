import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cellValue, type Dialect, DialectEvidence } from '#rows/dialect.ts'

const plain: Dialect = { decimalComma: false, dates: undefined }
const german: Dialect = { decimalComma: true, dates: undefined }

/** What is found out of cells of one kind. */
function found(kind: string, ...cells: unknown[]) {
  const evidence = new DialectEvidence()
  for (const cell of cells) evidence.see(kind, cell)
  return evidence.dialect()
}

describe('cells', () => {
  const cases: readonly (readonly [kind: string, cell: unknown, dialect: Dialect, value: unknown])[] = [
    ['decimal', '1,234.50', plain, 1234.5],
    ['decimal', '1.234,50', german, 1234.5],
    ['decimal', '€ 12,5', german, 12.5],
    ['number', '-.5', plain, -0.5],
    ['integer', '1234567890123456', plain, '1234567890123456'],
    ['integer', '12 apples', plain, '12 apples'],
    ['number', '1,2,3', plain, '1,2,3'],
    ['date', '31.12.2026', plain, '2026-12-31'],
    ['date', '03/04/2026', plain, '03/04/2026'],
    ['date', '03/04/2026', { ...plain, dates: 'dmy' }, '2026-04-03'],
    ['date', '03/04/2026', { ...plain, dates: 'mdy' }, '2026-03-04'],
    ['date', '2026-12-31 00:00:00', plain, '2026-12-31'],
    ['date', '2026-12-31 08:00', plain, '2026-12-31 08:00'],
    ['datetime', '1.2.2026 8:30', plain, '2026-02-01 08:30'],
    ['datetime', '2026-02-01 08:30:00+02', plain, '2026-02-01 08:30:00+02:00'],
    ['boolean', 'Wahr', plain, true],
    ['boolean', 'f', plain, false],
    ['boolean', 'perhaps', plain, 'perhaps'],
    ['json', '{"a":1}', plain, { a: 1 }],
    ['json', '{a', plain, '{a'],
    ['json', '', plain, null],
    ['table', '', plain, []],
    ['table', '[{"a":1}]', plain, [{ a: 1 }]],
    ['text', '\\N', plain, null],
    ['text', "'=1+1", plain, '=1+1'],
    ['text', "'tis", plain, "'tis"],
    ['text', 7, plain, 7],
  ]
  for (const [kind, cell, dialect, value] of cases)
    it(`${kind} ${JSON.stringify(cell)} gives ${JSON.stringify(value)}`, () => {
      assert.deepEqual(cellValue(kind, cell, dialect), value)
    })

  it('say how numbers are written, unless they say both or neither', () => {
    assert.equal(found('decimal', '1,5').decimalComma, true)
    assert.equal(found('decimal', '1,500').decimalComma, false, 'a group of three')
    assert.equal(found('decimal', '1,5', '2.5').decimalComma, false)
    assert.equal(found('text', '1,5').decimalComma, false, 'texts say nothing of numbers')
  })

  it('say in which order dates are written, or which of them nobody can read', () => {
    assert.deepEqual(found('date', '03/04/2026', '31/12/2026'), { decimalComma: false, dates: 'dmy' })
    assert.deepEqual(found('datetime', '12/31/2026 08:00'), { decimalComma: false, dates: 'mdy' })
    assert.equal(found('date', '04/04/2026').unclear, undefined, 'the same either way')
    assert.equal(found('date', '03/04/2026').unclear, '03/04/2026')
    assert.equal(found('date', '31/12/2026', '12/31/2026', '03/04/2026').unclear, '03/04/2026')
  })
})
