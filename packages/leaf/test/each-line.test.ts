import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { eachLine } from '#leaf/each-line.ts'

describe('the lines of a stream', () => {
  it('end at line feeds alone, wherever its bytes are cut', async () => {
    const lines = ['{"a":"x\u2028y\u2029z"}', '', 'ü€😀\r', '\u0085\u000b\u000c', 'the last']
    const bytes = Buffer.from(lines.join('\n'))
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      )
      const found = await Readable.from(eachLine(Readable.from(cut))).toArray()
      assert.deepEqual(found, lines, `pieces of ${size} bytes`)
    }
    const long = eachLine(Readable.from([Buffer.from('a\nbc'), Buffer.from('de')]), 3)
    assert.equal((await long.next()).value, 'a')
    await assert.rejects(long.next(), RangeError)
    assert.deepEqual(await Readable.from(eachLine(Readable.from([Buffer.from('a\n')]))).toArray(), ['a'])
  })
})
