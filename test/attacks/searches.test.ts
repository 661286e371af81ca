import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { collectionFor } from '../../src/documents/documents.ts'
import { searchDocuments } from '../../src/documents/asking/searching.ts'
import type { StoredDocument } from '../../src/documents/writing/stored.ts'
import { openCompany, siteOf, someone } from '../documents/trading-company.ts'

const clerk = someone('ann@example.com', 'Clerk')
const letters = Array.from('abcdefghijklmnopqrstuvwxyz')

describe('searches for every letter', () => {
  it('keep the processor from others for less than 100 ms at a time, the making of the index included', async (t) => {
    const { documents } = await openCompany(t, {
      seeds: false,
      files: siteOf({
        'config/doctypes/thing.yaml':
          'doctype: Thing\nfields: [{fieldname: note, type: long_text}]\npermissions: [{role: Clerk, actions: [read]}]',
      }),
    })
    const things = collectionFor(documents, documents.platform.doctypes.get('Thing')!)
    const count = 10_000
    await documents.store.transaction(async (tx) => {
      for (let n = 0; n < count; n++) {
        const time = '2026-03-01T00:00:00.000Z'
        const standard = {
          owner: 'x',
          creation: time,
          modified: time,
          modified_by: 'x',
          docstatus: 0 as const,
        }
        const document: StoredDocument = { ...standard, id: `T-${n}`, note: `${letters.join(' ')} ${n}` }
        await tx.in(things).insert(document)
      }
    })
    const ticking = new AbortController()
    let longest = 0
    const turns = (async (): Promise<void> => {
      let before = process.cpuUsage()
      while (!ticking.signal.aborted) {
        await new Promise(setImmediate)
        // Of the processor, not of the clock: other programs may have the machine meanwhile.
        const spent = process.cpuUsage(before)
        before = process.cpuUsage()
        longest = Math.max(longest, (spent.user + spent.system) / 1000)
      }
    })()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        searchDocuments(documents, clerk, { doctype: 'Thing', words: letters.join(' '), limit: 5 }),
      ),
    )
    ticking.abort()
    await turns
    assert.ok(answers.every(({ total }) => total === count))
    assert.ok(longest < 100, `${longest} ms`)
  })
})
