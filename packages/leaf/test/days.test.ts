/** Days in words: one language for filters, reports, SQL and prompts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { spanOf } from '#leaf/days.ts'

const thursday = Date.parse('2026-11-26T23:30:00Z')

describe('days in words', () => {
  const means: Readonly<Record<string, string>> = {
    today: '2026-11-26',
    Today: '2026-11-26',
    'today-30': '2026-10-27',
    'today - 30 days': '2026-10-27',
    'today+5': '2026-12-01',
    yesterday: '2026-11-25',
    tomorrow: '2026-11-27',
    'last 7 days': '2026-11-20 2026-11-26',
    'next 2 days': '2026-11-26 2026-11-27',
    'this week': '2026-11-23 2026-11-29',
    'last week': '2026-11-16 2026-11-22',
    'this month': '2026-11-01 2026-11-30',
    this_month: '2026-11-01 2026-11-30',
    'next-month': '2026-12-01 2026-12-31',
    'previous month': '2026-10-01 2026-10-31',
    'this quarter': '2026-10-01 2026-12-31',
    'last quarter': '2026-07-01 2026-09-30',
    'last year': '2025-01-01 2025-12-31',
    'start of next year': '2027-01-01',
    'end of last quarter': '2026-09-30',
    '2026': '2026-01-01 2026-12-31',
    '2026-Q1': '2026-01-01 2026-03-31',
    '2026q4': '2026-10-01 2026-12-31',
    '2026-03-31': '2026-03-31',
    '2024-02': '2024-02-01 2024-02-29',
  }
  for (const [words, span] of Object.entries(means))
    it(`reads "${words}" as ${span}`, () => {
      const [from, to = from] = span.split(' ')
      assert.deepEqual(spanOf(words, thursday), { from, to })
    })

  it('reads nothing that could mean two things, or lies beyond the calendar', () => {
    for (const words of [
      '',
      'now',
      'last',
      'month',
      'last 3 months',
      'last 0 days',
      'monday',
      '2026-13',
      '0000',
      '26',
      'this day week',
      'today-99999999',
      'end of the world',
      '2026-02-30',
      'start of',
      'x'.repeat(100),
    ])
      assert.equal(spanOf(words, thursday), undefined, words)
    assert.equal(spanOf('today+99999', Date.parse('9999-01-01')), undefined)
  })
})
