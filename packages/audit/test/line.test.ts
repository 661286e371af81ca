import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import * as fc from '../../../test/helpers/random.ts'
import type { AuditEvent, AuditLine } from '#audit/audit.ts'
import { firstPrev, lineText, parseLine, tellEvent } from '#audit/line.ts'
import { redact } from '#leaf/redact.ts'
import { WrittenJson } from '#leaf/written-json.ts'

const time = '2026-01-02T03:04:05.000Z'
// Every kind of character that a caller may send, those that terminals act on more often than others.
const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom(
      '\n',
      '\r',
      '\u001b',
      '\u0085',
      '\u2028',
      '\u202e',
      '\u200b',
      '\u{e0041}',
      '"',
      '\\',
      '\ud800',
      '…',
    ),
  ),
  maxLength: 200,
})
const event: fc.Arbitrary<AuditEvent> = fc.record(
  {
    type: text,
    status: fc.constantFrom('ok', 'error', 'denied', 'timeout'),
    user: text,
    client: text,
    session_id: text,
    request_id: text,
    address: text,
    target: text,
    execution_time: fc.double(),
    success: fc.boolean(),
    error: text,
    result: fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }) as fc.Arbitrary<any>,
    documents: fc.array(fc.record({ doctype: text, names: fc.array(text), count: fc.nat() }), {
      maxLength: 3,
    }),
    data: fc.dictionary(text, fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' })),
  },
  { requiredKeys: ['type', 'status'] },
)

describe('a line of the audit log', () => {
  it('is one line of printable text that parses to the event, whatever the event holds', () => {
    fc.assert(
      fc.property(event, (told) => {
        const line = lineText(tellEvent(told, time, 1_000_000), 7, firstPrev)
        assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u200b-\u200f]/)
        const parsed = parseLine(Buffer.from(line))
        const { seq, time: at, id, prev, ...rest } = parsed!
        assert.deepEqual([seq, at, prev, id.length], [7, time, firstPrev, 22])
        const expected = JSON.parse(JSON.stringify(redact(told))) as AuditEvent
        if (!Number.isFinite(told.execution_time))
          delete (expected as { execution_time?: number }).execution_time
        assert.deepEqual(rest, expected)
      }),
      { numRuns: 300 },
    )
  })

  it('is never larger than allowed, and keeps what happened to whom', () => {
    const large = fc.record({
      type: fc.constant('tool.call'),
      status: fc.constant('ok' as const),
      user: fc.constant('ann@example.com'),
      target: fc.string({ unit: 'binary', minLength: 200, maxLength: 2_000 }),
      error: fc.string({ unit: 'binary', maxLength: 20_000 }),
      data: fc.dictionary(
        fc.string({ unit: 'binary' }),
        fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }),
        {
          minKeys: 30,
          maxKeys: 200,
        },
      ),
    })
    const maximum = 4096
    fc.assert(
      fc.property(large, (told) => {
        const line = lineText(tellEvent(told, time, maximum), 7, firstPrev)
        assert.ok(Buffer.byteLength(line) <= maximum + 200, String(Buffer.byteLength(line)))
        const { user, type } = JSON.parse(line) as AuditLine
        assert.deepEqual([user, type], ['ann@example.com', 'tool.call'])
      }),
      { numRuns: 100 },
    )
  })

  it('keeps old and new values of a write, but those of a field whose name tells a secret', () => {
    const changes = [
      { field: 'phone', from: '1', to: '2' },
      { field: 'api_key', from: 'old', to: 'new' },
      { field: 'items[a].qty', from: undefined, to: 3 },
    ]
    const line = lineText(
      tellEvent({ type: 'document.update', status: 'ok', changes }, time, 16_384),
      1,
      firstPrev,
    )
    assert.deepEqual((JSON.parse(line) as AuditLine).changes, [
      { field: 'phone', from: '1', to: '2' },
      { field: 'api_key', from: '[redacted]', to: '[redacted]' },
      { field: 'items[a].qty', from: null, to: 3 },
    ])
  })

  it('says the same of a result whose JSON was there already, and cuts it when it is too large', () => {
    const told = { type: 'tool.call', status: 'ok', user: 'ann@example.com' } as const
    const lineOf = (value: unknown, most: number): string => {
      const result = new WrittenJson(JSON.stringify(value), () => value)
      return lineText(tellEvent({ ...told, result }, time, most), 1, firstPrev)
    }
    const small = { name: 'M\u202eller', rows: [1, 2] }
    const line = lineOf(small, 16_384)
    assert.doesNotMatch(line, /\u202e/)
    assert.deepEqual((JSON.parse(line) as AuditLine).result, small)
    const large = lineOf({ rows: Array.from({ length: 5_000 }, (_, n) => `row ${n}`) }, 4096)
    assert.ok(Buffer.byteLength(large) < 4300)
    const { result } = JSON.parse(large) as { result: { rows: string[] } }
    assert.equal(result.rows[0], 'row 0')
    assert.match(result.rows.at(-1)!, /more/)
  })

  it('cleans a name each time that it comes, and cuts it as short as the line must be', () => {
    const target = `Bearer ${'x'.repeat(20)}`
    const told = { type: 'tool.call', status: 'denied', user: 'a\u202e@example.com', target } as const
    for (const most of [16_384, 16_384, 300]) {
      const line = lineText(tellEvent({ ...told, data: { more: 'y'.repeat(100) } }, time, most), 1, firstPrev)
      assert.doesNotMatch(line, /\u202e|xxxx/)
      const { user, target: shown } = JSON.parse(line) as AuditLine
      assert.deepEqual([user, shown], ['a\u202e@example.com', 'Bearer [redacted]'])
    }
  })

  it('survives values that JSON does not know', () => {
    const odd = {
      big: 12n,
      run: () => 1,
      nothing: undefined,
      symbol: Symbol('x'),
      date: new Date(0),
      map: new Map([[1, 2]]),
    }
    const cyclic: Record<string, unknown> = { odd }
    cyclic['self'] = cyclic
    const line = lineText(tellEvent({ type: 'a.b', status: 'ok', data: cyclic }, time, 16_384), 1, firstPrev)
    const { data } = JSON.parse(line) as AuditLine
    const { date, big } = data!['odd'] as { date: string; big: string }
    assert.deepEqual([date, big], ['1970-01-01T00:00:00.000Z', '12'])
  })

  it('is told from what is none', () => {
    for (const bytes of [
      '',
      '{',
      'null',
      '[]',
      '{"seq":1}',
      '{"seq":"1","prev":"","id":"","time":"","type":""}',
    ]) {
      assert.equal(parseLine(Buffer.from(bytes)), undefined, bytes)
    }
  })
})
