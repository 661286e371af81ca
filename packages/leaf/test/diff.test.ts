import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../../../test/helpers/random.ts'
import { unifiedDiff } from '#leaf/diff.ts'

describe('a unified diff', () => {
  it('is empty for equal texts', () => {
    assert.equal(unifiedDiff('a\nb\n', 'a\nb\n', 'x', 'y'), '')
  })

  it('shows what changed with a little around it', () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('')
    const after = before.replace('line 10\n', 'line ten\nand more\n').replace('line 20\n', '')
    assert.equal(
      unifiedDiff(before, after, 'version 1', 'version 2'),
      [
        '--- version 1',
        '+++ version 2',
        '@@ -7,7 +7,8 @@',
        ' line 7',
        ' line 8',
        ' line 9',
        '-line 10',
        '+line ten',
        '+and more',
        ' line 11',
        ' line 12',
        ' line 13',
        '@@ -17,4 +18,3 @@',
        ' line 17',
        ' line 18',
        ' line 19',
        '-line 20',
      ].join('\n'),
    )
  })

  it('turns the one text into the other, whatever they are', () => {
    const text = fc
      .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n'), { maxLength: 30 })
      .map((lines) => lines.join(''))
    fc.assert(
      fc.property(text, text, (before, after) => {
        assert.equal(patched(before, unifiedDiff(before, after, 'x', 'y')), after)
      }),
    )
  })
})

function patched(before: string, diff: string): string {
  const lines = before.split('\n').slice(0, -1)
  const out: string[] = []
  let at = 0
  for (const line of diff.split('\n').slice(2)) {
    const hunk = /^@@ -(\d+),(\d+)/.exec(line)
    if (hunk) {
      const start = Number(hunk[2]) === 0 ? Number(hunk[1]) : Number(hunk[1]) - 1
      while (at < start) out.push(lines[at++]!)
    } else if (line.startsWith('+')) out.push(line.slice(1))
    else {
      assert.equal(line.slice(1), lines[at])
      if (line.startsWith(' ')) out.push(lines[at]!)
      at++
    }
  }
  while (at < lines.length) out.push(lines[at++]!)
  return out.map((line) => `${line}\n`).join('')
}
