import assert from 'node:assert/strict'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type RawLine, readBackward, readLines } from '#state/lines/read-lines.ts'
import { temporaryFolder } from './state-folder.ts'

const block = 64 * 1024

describe('the lines of a file', () => {
  it('are read backwards as forwards, wherever they and the blocks end', async (t) => {
    const path = join(await temporaryFolder(t), 'lines')
    const places = async (read: AsyncIterable<readonly RawLine[]>): Promise<unknown[]> => {
      const all: unknown[] = []
      for await (const lines of read)
        for (const { bytes, offset, end, complete } of lines) all.push([String(bytes), offset, end, complete])
      return all
    }
    const long = 'y'.repeat(3 * block)
    for (const text of [
      '',
      '\n',
      '\n\n',
      'a',
      'a\nb',
      `${'x'.repeat(block - 1)}\n${'z'.repeat(block)}`,
      `${'x'.repeat(block)}\nb\n`,
      `a\n${long}\n${long}`,
      `${long}b\n\n${long}\nc\n`,
    ])
      for (const compressed of [false, true]) {
        await writeFile(path, compressed ? gzipSync(text) : text)
        const forward = await places(readLines(path, { compressed }))
        assert.deepEqual((await places(readBackward(path, { compressed }))).reverse(), forward)
      }
  })

  it(
    'are found from the end behind much that is none, in time that grows with it alone',
    { timeout: 20_000 },
    async (t) => {
      const path = join(await temporaryFolder(t), 'lines')
      await writeFile(path, 'a\n')
      // As a file that a loss of power left longer than what was written.
      await truncate(path, 96 << 20)
      for await (const lines of readBackward(path)) assert.ok(lines.length > 0)
    },
  )
})
