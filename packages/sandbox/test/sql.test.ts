import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Sql, type SqlQuery, type SqlResult } from '#sandbox/sql/sql.ts'
import {
  allGone,
  descendants,
  isolation,
  openDescriptors,
  settings,
  signal,
  tablesOf,
  withoutSql,
} from './machine.ts'

const orders = {
  columns: [
    { name: 'name', type: 'text' },
    { name: 'total', type: 'number' },
    { name: 'qty', type: 'integer' },
    { name: 'paid', type: 'boolean' },
    { name: 'day', type: 'date' },
    { name: 'creation', type: 'datetime' },
    { name: 'extra', type: 'json' },
  ],
  rows: [
    ['SO-1', 10.5, 3, true, '2026-01-31', '2026-02-01T08:30:00.000Z', { a: [1] }],
    ['SO-2', null, 4, false, null, '2026-02-02T00:00:00.000Z', null],
    ['SO-"3', 2, 5, null, '2026-03-01', '2026-03-01T23:59:59.999Z', ['é']],
  ],
} as const

describe('SQL', { skip: withoutSql }, () => {
  const sql = new Sql(isolation, settings.sql)
  after(() => sql.close())

  const run = (text: string, more: Partial<SqlQuery> = {}): Promise<SqlResult> =>
    sql.query({
      sql: text,
      tables: tablesOf({ 'Sales Order': orders }),
      maxRows: 100,
      signal: signal(),
      ...more,
    })

  it('answers with the values as they were written', async () => {
    const { columns, rows, more } = await run('SELECT * FROM sales_order ORDER BY name DESC')
    assert.deepEqual(
      columns.map(({ name, type }) => `${name} ${type}`),
      [
        'name VARCHAR',
        'total DOUBLE',
        'qty BIGINT',
        'paid BOOLEAN',
        'day DATE',
        'creation TIMESTAMP',
        'extra VARCHAR',
      ],
    )
    assert.deepEqual(rows, [
      ['SO-2', null, 4, false, null, '2026-02-02 00:00:00', null],
      ['SO-1', 10.5, 3, true, '2026-01-31', '2026-02-01 08:30:00', '{"a":[1]}'],
      ['SO-"3', 2, 5, null, '2026-03-01', '2026-03-01 23:59:59.999', '["é"]'],
    ])
    assert.equal(more, false)
  })

  it('knows a doctype by its own name too, and joins, groups and WITH', async () => {
    const { rows } = await run(
      'WITH big AS (SELECT * FROM "Sales Order" WHERE qty > 3) SELECT count(*), sum(o.qty) FROM big JOIN sales_order o USING (name)',
    )
    assert.deepEqual(rows, [[2, 9]])
  })

  it('gives every kind of value a form in JSON', async () => {
    const { rows } = await run(
      `SELECT 1::HUGEINT << 80, 1.10, 'NaN'::DOUBLE, [1, 2], {a: 1}, MAP {'k': 1}, 'a'::BLOB, INTERVAL 1 DAY, TIME '01:02:03', uuid() IS NOT NULL`,
    )
    assert.deepEqual(rows, [
      [
        '1208925819614629174706176',
        '1.10',
        'NaN',
        [1, 2],
        { a: 1 },
        [{ key: 'k', value: 1 }],
        'YQ==',
        '1 day',
        '01:02:03',
        true,
      ],
    ])
  })

  it('takes parameters by position and by name, and says which are missing or too many', async () => {
    assert.deepEqual((await run('SELECT name FROM sales_order WHERE qty = ?', { parameters: [3] })).rows, [
      ['SO-1'],
    ])
    const named = { parameters: { q: 4, n: null } }
    assert.deepEqual((await run('SELECT name, $n FROM sales_order WHERE qty = $q', named)).rows, [
      ['SO-2', null],
    ])
    // A value is never part of the statement.
    const hostile = { parameters: [`x' OR '1'='1`] }
    assert.deepEqual((await run('SELECT name FROM sales_order WHERE name = ?', hostile)).rows, [])
    await assert.rejects(run('SELECT $a'), /no value is given for the parameter \$a/)
    await assert.rejects(run('SELECT 1', { parameters: [1] }), /the statement has no parameter \$1/)
  })

  it('says where a statement is wrong, and what there is instead', async () => {
    await assert.rejects(run('SELECT *\nFROM sales_ordr'), {
      name: 'AppError',
      code: 'invalid',
      message:
        'line 2, column 6: there is no table "sales_ordr" that you may read; did you mean "sales_order"?; tables: sales_order',
    })
    await assert.rejects(run('SELECT totl FROM sales_order'), {
      message:
        'line 1, column 8: there is no column "totl"; did you mean "total"?; columns: sales_order(name, total, qty, paid, day, creation, extra)',
    })
    await assert.rejects(
      run('SELECT name FROM sales_order WHER qty'),
      /^AppError: line 1, column \d+: syntax error/,
    )
    await assert.rejects(run(`SELECT CAST('x' AS INT)`), /could not convert/)
  })

  it('says when there are more rows, cut by number or by bytes', async () => {
    const few = await run('SELECT * FROM range(10)', { maxRows: 10 })
    assert.deepEqual([few.rows.length, few.more], [10, false])
    const many = await run('SELECT * FROM range(1000000000)', { maxRows: 10 })
    assert.deepEqual([many.rows.length, many.more], [10, true])
    const wide = await run(`SELECT repeat('x', 200000) FROM range(100)`, { maxRows: 100 })
    assert.ok(wide.rows.length < 50 && wide.more, String(wide.rows.length))
  })

  it('knows every table and column before the first statement has named one', async () => {
    const customer = { columns: [{ name: 'name', type: 'text' }], rows: [['x']] } as const
    const tables = tablesOf({ 'Sales Order': orders, Customer: customer }, 'catalogue')
    const names = async (statement: string) => (await run(statement, { tables })).rows.flat()
    assert.deepEqual(await names('SHOW TABLES'), ['Customer', 'Sales Order', 'sales_order'])
    assert.deepEqual(await names('SELECT table_name FROM information_schema.tables ORDER BY ALL'), [
      'Customer',
      'Sales Order',
      'sales_order',
    ])
    assert.equal(tables.asked(), 0)
    const described = (await run('DESCRIBE sales_order', { tables })).rows.map(([name]) => name)
    assert.deepEqual(
      described,
      orders.columns.map(({ name }) => name),
    )
    assert.equal((await names('SELECT count(*) FROM sales_order'))[0], 3)
    assert.deepEqual(
      (await run('DESCRIBE sales_order', { tables })).rows.map(([name]) => name),
      described,
    )
  })

  it('refuses in words what is no one statement', async () => {
    const tables = tablesOf({ 'Sales Order': orders })
    await assert.rejects(run('PIVOT sales_order ON status USING count(*)', { tables }), {
      code: 'invalid',
      message: /^PIVOT has to name its values.*IN \('Draft', 'Paid'\)/,
    })
    const named = `PIVOT sales_order ON name IN ('SO-1') USING sum(qty)`
    assert.ok((await run(named, { tables })).columns.some(({ name }) => name === 'SO-1'))
    for (const nothing of ['-- only a comment', ';', '/* */'])
      await assert.rejects(run(nothing), /there is no statement, only a comment or nothing; write one/)
  })

  it('reads rows once per revision, and only those of tables that are named', async () => {
    const other = { columns: [{ name: 'name', type: 'text' }], rows: [['x']] } as const
    const first = tablesOf({ 'Sales Order': orders, Customer: other }, 'cache')
    await run('SELECT 1 FROM sales_order', { tables: first })
    await run('SELECT 2 FROM sales_order', { tables: first })
    assert.equal(first.asked(), 1)
    const changed = tablesOf({ 'Sales Order': { ...orders, rows: [], revision: '2' } }, 'cache')
    assert.deepEqual((await run('SELECT count(*) FROM sales_order', { tables: changed })).rows, [[0]])
    assert.equal(changed.asked(), 1)
  })

  it('loads a table whose name only the engine can work out', async () => {
    const tables = tablesOf({ 'Sales Order': orders }, 'computed')
    assert.equal((await run(`FROM query_table('sales_' || 'order')`, { tables })).rows.length, 3)
  })

  it('forgets a table that may not be read any more, and shares none with others', async () => {
    const customers = { columns: [{ name: 'name', type: 'text' }], rows: [['secret']] } as const
    const both = tablesOf({ Customer: customers, 'Sales Order': orders }, 'narrowed')
    assert.deepEqual((await run('SELECT name FROM customer', { tables: both })).rows, [['secret']])
    await assert.rejects(
      run('SELECT name FROM customer', { tables: tablesOf({ 'Sales Order': orders }, 'narrowed') }),
      /no table "customer"/,
    )
    await assert.rejects(
      run('SELECT name FROM customer', { tables: tablesOf({ 'Sales Order': orders }, 'other') }),
      /no table "customer"/,
    )
    const catalog = await run(`SELECT table_name FROM duckdb_tables()`, { tables: tablesOf({}, 'nobody') })
    assert.deepEqual(catalog.rows, [])
  })

  it('stops when its caller leaves, and goes on for others', async () => {
    const controller = new AbortController()
    const running = run('SELECT count(*) FROM range(1000000000) a, range(1000000000) b', {
      signal: controller.signal,
    })
    setTimeout(() => controller.abort(), 200)
    await assert.rejects(running, { code: 'unavailable', message: 'the call was cancelled' })
    assert.deepEqual((await run('SELECT 1')).rows, [[1]])
  })

  it('is not ended at once by a time that is longer than any timer', async () => {
    const patient = new Sql(isolation, { ...settings.sql, timeout_seconds: 9_999_999 })
    const asked = { sql: 'SELECT 1', tables: tablesOf({}), maxRows: 1, signal: signal() }
    const [answer] = await Promise.allSettled([patient.query(asked)])
    await patient.close()
    assert.deepEqual(answer.status === 'fulfilled' && answer.value.rows, [[1]])
  })

  it('runs no more at a time than it may, the others in turn', async () => {
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, n) => run(`SELECT ${n} FROM sales_order LIMIT 1`)),
    )
    assert.deepEqual(
      results.map(({ rows }) => rows[0]?.[0]),
      Array.from({ length: 12 }, (_, n) => n),
    )
  })

  it('leaves no process and no descriptor behind', async () => {
    const before = openDescriptors()
    const own = new Sql(isolation, settings.sql)
    await own.probe()
    await own.query({ sql: 'SELECT 1', tables: tablesOf({}), maxRows: 1, signal: signal() })
    await own.close()
    await sql.close()
    assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
    assert.ok(openDescriptors() <= before + 2, `${before} before, ${openDescriptors()} after`)
  })
})
