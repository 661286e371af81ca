import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { csvLine } from '../src/csv.ts'

describe('a line of CSV', () => {
  it('escapes a text that begins with a line feed, after which a spreadsheet would find a formula', () => {
    for (const beginning of ['=', '+', '-', '@', '\t', '\r', '\n'])
      assert.match(csvLine([`${beginning}=1+1`]), /^"?'/, JSON.stringify(beginning))
    assert.equal(csvLine(['\n=1+1', 'a\n=1']), `"'\n=1+1","a\n=1"`)
  })

  it('leaves numbers as they are', () => {
    assert.equal(csvLine([-1, null, '1', true]), '-1,,1,true')
  })
})
