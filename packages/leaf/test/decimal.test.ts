import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../../../test/helpers/random.ts'
import { Decimal, DecimalSum } from '#leaf/decimal.ts'

const sumOf = (...values: (number | Decimal)[]): DecimalSum => {
  const sum = new DecimalSum()
  for (const value of values) sum.add(value)
  return sum
}

describe('a decimal', () => {
  it('is the number as it is written, not its binary fraction', () => {
    for (const [number, text] of [
      [0.1, '0.1'],
      [-12.5, '-12.5'],
      [1e21, '1000000000000000000000'],
      [2.5e-7, '0.00000025'],
      [-0, '0'],
      [7, '7'],
    ] as const)
      assert.equal(String(Decimal.of(number)), text)
  })

  it('keeps the zeros of its text, and is a text in JSON', () => {
    assert.equal(JSON.stringify({ total: Decimal.read('1.10') }), '{"total":"1.10"}')
    assert.equal(String(Decimal.read('-0.05')), '-0.05')
    for (const none of ['', '1.', '.5', '1e3', '+1', ' 1', 'x', '--1'])
      assert.equal(Decimal.read(none), undefined)
  })

  it('rounds halves away from zero, and is compared by its value', () => {
    const rounded = (text: string, places: number) => String(Decimal.read(text)!.round(places))
    assert.deepEqual(
      [rounded('1.005', 2), rounded('-1.005', 2), rounded('1.0049', 2), rounded('2', 2), rounded('0.5', 0)],
      ['1.01', '-1.01', '1.00', '2.00', '1'],
    )
    const compared = (a: string, b: string) => Decimal.read(a)!.compare(Decimal.read(b)!)
    assert.deepEqual([compared('1.10', '1.1'), compared('9', '10.00'), compared('-1', '-2')], [0, -1, 1])
    assert.equal(Decimal.read('1660087.55')!.toNumber(), 1660087.55)
  })
})

describe('a sum of decimals', () => {
  it('has no tail of binary fractions', () => {
    assert.equal(String(sumOf(0.1, 0.2).total(2)), '0.30')
    assert.equal(String(sumOf(...Array<number>(1000).fill(0.01)).total(2)), '10.00')
    assert.equal(String(sumOf(1.005, 1.005).total(3)), '2.010')
  })

  it('has all digits where a number has too few', () => {
    const most = 9_999_999_999_999.99
    assert.equal(String(sumOf(...Array<number>(1000).fill(most)).total(2)), '9999999999999990.00')
    assert.equal(String(sumOf(1e15, 0.01, Decimal.read('0.001')!).total(3)), '1000000000000000.011')
  })

  it('has an average, and nothing has none', () => {
    assert.equal(String(sumOf(1, 1, 2).average(2)), '1.33')
    assert.equal(String(sumOf(0.05, 0.06).average(2)), '0.06')
    assert.equal(sumOf().average(2), undefined)
    assert.equal(String(sumOf().total(2)), '0.00')
  })

  it('is that of the cents, whatever the amounts and their order', () => {
    const cents = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 })
    fc.assert(
      fc.property(fc.array(cents), (all) => {
        const right = new Decimal(
          all.reduce((total, one) => total + BigInt(one), 0n),
          2,
        )
        const sum = sumOf(...all.map((one) => Number(`${one}e-2`)))
        assert.equal(String(sum.total(2)), String(right))
        const backwards = sumOf(...all.map((one) => Number(`${one}e-2`)).reverse())
        assert.equal(String(backwards.total(2)), String(right))
      }),
    )
  })
})
