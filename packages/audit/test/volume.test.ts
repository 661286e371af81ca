/** What the log takes, and how long it is kept at that rate. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { holdingOf, volumeOfFiles } from '#audit/keeping/volume.ts'
import { startAudit } from './audit-folder.ts'

const day = 86_400_000
const now = 10 * day
const volume = { lines: 20_000, bytes: 26_000_000, limited: 13_000_000, since: now - 10 * day }

describe('the volume of the audit log', () => {
  it('is told with the days that it is kept for', () => {
    const holding = (retention_days: number, max_total_bytes: number) =>
      holdingOf(volume, { retention_days, max_total_bytes }, now)
    assert.deepEqual(holding(180, 10_400_000), {
      text: '1300 bytes an event, 2000 events a day: at this rate the log holds 8 days of the 180 that are set',
      isShort: true,
    })
    assert.deepEqual(holding(8, 10_400_000), {
      text: '1300 bytes an event, 2000 events a day',
      isShort: false,
    })
    assert.equal(holding(180, 0).isShort, false, 'without a limit on bytes')
    assert.match(holding(0, 10_400_000).text, /holds 8 days and not for ever, which is set$/)
  })

  it('is measured in the files of a log', async (t) => {
    const opened = await startAudit(t, {})
    assert.ok(opened)
    for (let n = 0; n < 5; n++) await opened.audit.record({ type: 'tool.call', status: 'ok' })
    const { seq } = await opened.audit.stats()
    const found = await volumeOfFiles(opened.folder, seq)
    assert.equal(found?.lines, seq)
    assert.ok(found.bytes > 500 && found.limited === found.bytes)
    assert.equal(await volumeOfFiles(`${opened.folder}/none`, 0).catch(() => undefined), undefined)
  })
})
