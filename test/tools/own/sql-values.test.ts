/** What a SQL tool answers is what the database holds, wherever the daemon stands. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { copyOfShippedSite } from '../../helpers/daemon.ts'
import { withSql } from '../../../src/house/check-sql.ts'
import { readWholeSite } from '../../../src/house/snapshot.ts'
import { faultText } from '#site/site-files.ts'
import { noPostgres, startPostgres } from '../../helpers/postgres.ts'
import { boss, open } from './own-office.ts'

const source = (port: number) =>
  `sources: { one: { type: postgres, host: 127.0.0.1, port: ${port}, database: postgres, user: postgres } }`
const tool = (sql: string, more = '') =>
  `tool: ask\ntype: sql\ndescription: Asks the database for some values.\nsource: one\ninput: { type: object }\n${more}sql: |\n  ${sql.replaceAll('\n', '\n  ')}\n`

/** Values as PostgreSQL is given them, and as an answer has to have them. */
const values: readonly (readonly [sql: string, answered: unknown, type?: string])[] = [
  ["date '2026-01-06'", '2026-01-06', 'date'],
  ["date 'infinity'", 'infinity', 'date'],
  ["time '00:30'", '00:30:00', 'time without time zone'],
  ["timestamp '2026-07-01 00:30:00.123456'", '2026-07-01 00:30:00.123456', 'timestamp without time zone'],
  ["timestamptz '2026-07-01 00:30+00'", '2026-07-01 02:30:00+02', 'timestamp with time zone'],
  ["interval '1 day 2 hours'", 'P1DT2H', 'interval'],
  ["daterange('2026-01-06', '2026-02-06')", '[2026-01-06,2026-02-06)', 'daterange'],
  ["array[date '2026-01-06', null]", ['2026-01-06', null], 'date[]'],
  ["array[timestamp '2026-01-06 00:30']", ['2026-01-06 00:30:00'], 'timestamp without time zone[]'],
  ["array[interval '2 hours']", ['PT2H'], 'interval[]'],
  ['9007199254740993::bigint', '9007199254740993', 'bigint'],
  ['array[9007199254740993::bigint]', ['9007199254740993'], 'bigint[]'],
  ['0.12345678901234567890::numeric', '0.12345678901234567890', 'numeric'],
  ['array[0.12345678901234567890::numeric]', ['0.12345678901234567890'], 'numeric[]'],
  ["'NaN'::numeric", 'NaN', 'numeric'],
  [
    `'{"n": 12345678901234567890, "small": -1.50, "text": "12345678901234567890 \\"1", "far": 1e999}'::json`,
    { n: '12345678901234567890', small: -1.5, text: '12345678901234567890 "1', far: '1e999' },
  ],
  [`array['[0.12345678901234567890]'::jsonb]`, [['0.12345678901234567890']]],
  ['7::int', 7],
  ['0.1::float8', 0.1],
  ['true', true],
  ["'text'::text", 'text'],
]

describe('the values of a SQL tool', { skip: noPostgres ?? false }, () => {
  let port = 0
  const undo: (() => unknown)[] = []
  after(async () => {
    for (const step of undo) await step()
  })
  before(async () => {
    const server = await startPostgres({ after: (step) => void undo.push(step as () => unknown) })
    port = server.port
    await server.admin.query(`ALTER ROLE postgres SET TimeZone = 'Europe/Berlin'`)
  })

  for (const zone of ['UTC', 'Asia/Tokyo', 'America/Los_Angeles'])
    it(`are those of the database while the daemon stands in ${zone}, and their types are told`, async (t) => {
      const before = process.env['TZ']
      t.after(() => (before === undefined ? delete process.env['TZ'] : (process.env['TZ'] = before)))
      process.env['TZ'] = zone
      const sql = `SELECT ${values.map(([text], index) => `${text} AS c${index}`).join(', ')}`
      const { call } = await open(t, {
        'config/sources.yaml': source(port),
        'config/tools/a.yaml': tool(sql),
      })
      const { text } = await call(boss, 'ask')
      const { data, types } = JSON.parse(text) as { data: Record<string, unknown>[]; types: unknown }
      assert.deepEqual(data, [
        Object.fromEntries(values.map(([, answered], index) => [`c${index}`, answered])),
      ])
      const told = values.flatMap(([, , type], index) => (type === undefined ? [] : [[`c${index}`, type]]))
      assert.deepEqual(types, Object.fromEntries(told))
    })

  it('are all there: two columns of one name, of which one was lost, are a fault', async (t) => {
    const site = copyOfShippedSite(t)
    writeFileSync(join(site, 'config/sources.yaml'), source(port))
    mkdirSync(join(site, 'config/tools'))
    writeFileSync(
      join(site, 'config/tools/a.yaml'),
      tool('SELECT a.*, b.* FROM (SELECT 1 AS id) a, (SELECT 2 AS id) b'),
    )
    const { faults } = await withSql({ site, state: site }, (means) => readWholeSite(site, undefined, means))
    assert.deepEqual(faults.map(faultText), [
      'config/tools/a.yaml:6:6 sql: two columns are called "id": name one of them with AS',
    ])
  })
})
