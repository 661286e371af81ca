/** What one statement leaves behind changes no later statement: not its memory, and not the rows that it had read. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { PermittedTables } from '#sandbox/tables.ts'
import { Sql, type SqlResult } from '#sandbox/sql/sql.ts'
import { isolation, settings, signal, tablesOf, withoutSql } from '../../packages/sandbox/test/machine.ts'

const columns = [
  { name: 'name', type: 'text' },
  { name: 'department', type: 'text' },
] as const
const rows = Array.from({ length: 5000 }, (_, n) => [`E${n}`, `D${n % 7}`])

describe('SQL of one user', { skip: withoutSql }, () => {
  const sql = new Sql(isolation, { ...settings.sql, timeout_seconds: 60 })
  after(() => sql.close())
  const run = (statement: string, tables: PermittedTables, timeout?: number): Promise<SqlResult> =>
    sql.query({ sql: statement, tables, maxRows: 1000, signal: signal(), ...(timeout && { timeout }) })

  it('works after every statement that failed, and holds no memory of it', async () => {
    const tables = tablesOf({ Employee: { columns, rows } }, 'bombs')
    const bombs = [
      `SELECT count(*) FROM ${Array.from({ length: 16 }, (_, n) => `employee e${n}`).join(', ')}`,
      `SELECT list(a.range) FROM range(100000000) a`,
      `SELECT a.name FROM employee a, employee b, employee c ORDER BY hash(a.name || b.name || c.name)`,
      `SELECT DISTINCT a.name || b.name || c.name FROM employee a, employee b, employee c`,
      `SELECT repeat('x', 500000000) || name FROM employee`,
    ]
    for (const bomb of bombs) {
      // Only what would not end is ended soon: what comes after it starts a process, which takes a while on a busy machine.
      await assert.rejects(run(bomb, tables, 3_000), { code: 'invalid' }, bomb)
      const grouped = await run('SELECT department, count(*) FROM employee GROUP BY ALL', tables)
      assert.equal(grouped.rows.length, 7, bomb)
      // A good part of what SQL may use, in one value: there is no room for what a bomb would have left.
      const { rows: large } = await run(`SELECT strlen(repeat('x', 100000000)) AS n`, tables)
      assert.deepEqual(large, [[100_000_000]], bomb)
    }
  })

  it('shows no row that was deleted or taken away, under whatever name', async () => {
    const note = (texts: readonly string[], revision: string): PermittedTables =>
      tablesOf(
        { Note: { columns: [{ name: 'title', type: 'text' }], rows: texts.map((text) => [text]), revision } },
        'stale',
      )
    const names = [
      'note',
      '"Note"',
      `query_table('no'||'te')`,
      `query_table(['no'||'te'])`,
      `query('SELECT * FROM no'||'te')`,
    ]
    for (const first of names)
      for (const second of names) {
        const ask = async (name: string, tables: PermittedTables): Promise<unknown[]> =>
          (await run(`SELECT title FROM ${name}`, tables)).rows.flat()
        const at = `${first}-${second}`
        assert.deepEqual(await ask(first, note(['kept', 'deleted'], `${at} 1`)), ['kept', 'deleted'], at)
        assert.deepEqual(await ask(second, note(['kept'], `${at} 2`)), ['kept'], at)
        assert.deepEqual(await ask(first, note([], `${at} 3`)), [], at)
      }
  })

  it('finds whatever is not loaded yet, however it is asked for, and believes no feigned error', async () => {
    const asked = [
      ['SELECT count(*) AS n FROM $', [[5000]]],
      [`SELECT name FROM $ WHERE name = 'E7'`, [['E7']]],
      ['SELECT count(*) FROM $ WHERE name IS NULL', [[0]]],
      [`SELECT count(*) FROM range(2) r WHERE EXISTS (FROM $)`, [[2]]],
      [`SELECT count(*) FROM (VALUES ('E1')) t(x) WHERE x NOT IN (SELECT name FROM $)`, [[0]]],
      ['SELECT count(*) FROM (SELECT 1 FROM $ LIMIT 3)', [[3]]],
      [`SELECT max(TRY(name)) FROM $`, [['E999']]],
      ['SELECT max(1) FROM $', [[1]]],
    ] as const
    for (const [index, [statement, expected]] of asked.entries()) {
      const tables = tablesOf({ Employee: { columns, rows } }, `lazy ${index}`)
      assert.deepEqual(
        (await run(statement.replace('$', `query_table('emp'||'loyee')`), tables)).rows,
        expected,
        statement,
      )
    }
    const tables = tablesOf({ Employee: { columns, rows } }, 'feigned')
    await assert.rejects(run(`SELECT error('rows are not loaded: Emp' || 'loyee')`, tables), /not loaded/)
    await assert.rejects(run(`SELECT error('rows are not loaded: Other')`, tables), /not loaded/)
  })
})
