import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { checkBusy, mostBusy } from '../../src/control/doctor/machine.ts'
import { checkSize, manyDocuments } from '../../src/control/doctor/state.ts'
import { ProcessMetrics } from '#telemetry/process-metrics.ts'

describe('the size of an embedded state', () => {
  it('is warned of by doctor from the number of documents on that README names', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    assert.ok(readme.includes(`needs nothing else up to ${manyDocuments.toLocaleString('en')} documents`))
    const half = manyDocuments / 2
    assert.equal(checkSize({ 'document.customer': half, 'document.order': half - 1 }).status, 'ok')
    const { status, remedy } = checkSize({ 'document.customer': half, 'document.order': half })
    assert.equal(status, 'warning')
    assert.match(remedy!, /store copy --to postgres/)
  })

  it('does not count what the service keeps for itself', () => {
    assert.equal(checkSize({ 'oauth.token': 10 * manyDocuments, 'document.note': 3 }).detail, '3 documents')
  })
})

describe('a daemon that needs a core', () => {
  it('is told by doctor from the share on that README and the manual name, and where to read on', () => {
    const percent = `${mostBusy * 100} %`
    for (const [file, told] of [
      ['README.md', `From ${percent} of that on, `],
      ['docs/several-daemons.md', `more than ${percent} of\nthat for five minutes`],
    ] as const)
      assert.ok(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').includes(told), file)
    assert.equal(checkBusy(mostBusy).status, 'ok')
    const { status, detail, remedy } = checkBusy(0.97)
    assert.deepEqual([status, /97 %/.test(detail)], ['warning', true])
    const [, manual, heading] = /(docs\/\S+\.md), "(.+)"/.exec(remedy!)!
    const text = readFileSync(new URL(`../../${manual}`, import.meta.url), 'utf8')
    assert.ok(text.includes(`\n## ${heading}\n`))
  })

  it('is busy when it was in each of five minutes', async () => {
    const metrics = new ProcessMetrics()
    const idle = async (): Promise<void> => {
      await delay(1000)
      metrics.minute()
    }
    const work = (minutes: number): void => {
      for (; minutes > 0; minutes--) {
        const end = performance.now() + 5
        while (performance.now() < end);
        metrics.minute()
      }
    }
    await idle()
    work(4)
    assert.ok(metrics.busy < mostBusy, 'four')
    work(1)
    assert.ok(metrics.busy > mostBusy, 'five')
    await idle()
    assert.ok(metrics.busy < mostBusy, 'idle again')
  })
})
