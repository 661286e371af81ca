import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createLog } from '../../src/core/log.ts'
import { LineLog } from '../../src/line-log/line-log.ts'

describe('a log of lines', () => {
  it('writes what comes alone at once, and what follows it together', async () => {
    const writes: (readonly string[])[] = []
    const lines = new LineLog<string>({
      name: 'the log',
      log: createLog('silent', process.stderr),
      gatherMilliseconds: 500,
      write: (entries) => Promise.resolve(void writes.push(entries)),
    })
    await lines.add('alone')
    const waiting = [lines.add('second')]
    await setTimeout(5)
    waiting.push(lines.add('third'))
    await setTimeout(5)
    assert.deepEqual([writes, lines.waiting], [[['alone']], 2])
    await lines.close()
    await Promise.all(waiting)
    assert.deepEqual(writes, [['alone'], ['second', 'third']])
  })
})
