/** What a page shows is told with the documents that it shows, and how looking at it ended. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AuditEvent } from '#audit/audit.ts'
import { viewed } from '../../src/pages/documents/viewing.ts'
import { AppError } from '#leaf/errors.ts'
import { getDocument, listDocuments } from '../../src/documents/asking/reading.ts'
import { listAudit, openCompany, plain, sales } from '../documents/trading-company.ts'

describe('a page', () => {
  it('is told with the documents that it shows', async (t) => {
    const { documents } = await openCompany(t)
    const events: AuditEvent[] = []
    await viewed(listAudit(events), sales, { type: 'desk.view' }, (principal) =>
      listDocuments(documents, principal, { doctype: 'Customer', limit: 2 }),
    )
    assert.equal(events[0]?.status, 'ok')
    assert.equal(events[0].documents?.[0]?.count, 2)
  })

  it('that its reader may not see is denied, and one that broke is an error', async (t) => {
    const { documents } = await openCompany(t)
    const events: AuditEvent[] = []
    const view = { type: 'desk.view' }
    const audit = listAudit(events)
    await assert.rejects(viewed(audit, plain, view, (one) => getDocument(documents, one, 'Customer', 'x')))
    await assert.rejects(
      viewed(audit, sales, view, () => Promise.reject(new AppError('unavailable', 'cannot draw'))),
    )
    assert.deepEqual(
      events.map(({ status }) => status),
      ['denied', 'error'],
    )
  })

  it('that its reader left before it was drawn is cancelled, not denied', async () => {
    const events: AuditEvent[] = []
    const left = new AbortController()
    left.abort()
    const view = { type: 'chart.view', target: 'Dashboard Chart/X', signal: left.signal }
    const draw = (): Promise<never> => Promise.reject(new AppError('unavailable', 'the call was cancelled'))
    await assert.rejects(viewed(listAudit(events), sales, view, draw))
    assert.deepEqual(
      events.map(({ status, target }) => [status, target]),
      [['cancelled', 'Dashboard Chart/X']],
    )
  })

  it('is not shown while nothing can be told', async () => {
    const audit = {
      ...listAudit([]),
      requireWritable: () => {
        throw new AppError('unavailable', 'the audit log cannot be written')
      },
    }
    let looked = false
    await assert.rejects(viewed(audit, sales, { type: 'desk.view' }, () => Promise.resolve((looked = true))))
    assert.equal(looked, false)
  })
})
