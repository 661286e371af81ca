import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import { Sql } from '#sandbox/sql/sql.ts'
import { allGone, isolations, settings, signal, tablesOf, turnsDuring, withoutSql } from './machine.ts'

const folder = mkdtempSync(join(tmpdir(), 'sql-attack-'))
writeFileSync(join(folder, 'secret.csv'), 'a,b\nsecret,2\n')
after(() => rmSync(folder, { recursive: true, force: true }))

const secret = join(folder, 'secret.csv')
const made = join(folder, 'made')

/** Every statement must be refused. */
const refused = [
  `SELECT * FROM read_csv('${secret}')`,
  `SELECT * FROM '${secret}'`,
  `SELECT * FROM read_text('/etc/passwd')`,
  `SELECT * FROM read_blob('/proc/self/environ')`,
  `SELECT * FROM read_json('${secret}')`,
  `SELECT * FROM read_parquet('${secret}')`,
  `SELECT * FROM glob('/*')`,
  `SELECT * FROM sniff_csv('${secret}')`,
  `SELECT * FROM read_csv('http://127.0.0.1:1/x.csv')`,
  `SELECT * FROM read_csv('s3://bucket/x.csv')`,
  `COPY (SELECT 1) TO '${made}.csv'`,
  `COPY (SELECT 1) TO '${made}.parquet' (FORMAT parquet)`,
  `EXPORT DATABASE '${made}'`,
  `IMPORT DATABASE '${folder}'`,
  `ATTACH '${made}.db'`,
  `ATTACH ':memory:' AS other`,
  `ATTACH '' AS pg (TYPE postgres)`,
  `DETACH memory`,
  `USE memory`,
  `INSTALL httpfs`,
  `LOAD httpfs`,
  `LOAD '${made}.duckdb_extension'`,
  `FORCE INSTALL spatial FROM community`,
  `SET enable_external_access = true`,
  `SET lock_configuration = false`,
  `SET memory_limit = '100GB'`,
  `SET threads = 64`,
  `SET temp_directory = '${folder}'`,
  `SET VARIABLE x = 1`,
  `RESET ALL`,
  `PRAGMA enable_profiling`,
  `PRAGMA profiling_output='${made}.json'`,
  `CREATE TABLE x (i INT)`,
  `CREATE VIEW x AS SELECT 1`,
  `CREATE MACRO f(a) AS a`,
  `CREATE SECRET s (TYPE s3)`,
  `INSERT INTO customer VALUES ('x')`,
  `UPDATE customer SET name = 'x'`,
  `DELETE FROM customer`,
  `DROP TABLE customer`,
  `ALTER TABLE customer ADD COLUMN x INT`,
  `TRUNCATE customer`,
  `VACUUM`,
  `CHECKPOINT`,
  `BEGIN`,
  `COMMIT`,
  `CALL pragma_version()`,
  `PREPARE p AS SELECT 1`,
  `EXECUTE p`,
  `EXPLAIN ANALYZE INSERT INTO customer VALUES ('x')`,
  `EXPLAIN SELECT 1`,
  `SELECT 1; DROP TABLE customer`,
  `SELECT 1; SELECT 2`,
  `WITH x AS (DELETE FROM customer RETURNING *) SELECT * FROM x`,
  `SELECT * FROM query('DROP TABLE customer')`,
  `SELECT * FROM query('COPY (SELECT 1) TO ''${made}.csv''')`,
  `SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '${made}')`,
  `SELECT getenv('HOME')`,
  `SELECT * FROM parquet_metadata('${secret}')`,
  `SELECT * FROM which_secret('s3://x', 's3')`,
  ``,
  `;`,
  `-- nothing`,
  `SELECT '`,
  `\u0000`,
]

/** May answer, but must hold nothing of the machine and end in time. */
const bombs: [name: string, statement: string][] = [
  ['repeat', `SELECT length(repeat('x', 2000000000))`],
  ['range', 'SELECT count(*) FROM range(100000000000)'],
  ['cross join', 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3'],
  ['recursion', 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r'],
  ['list', 'SELECT list(range) FROM range(1000000000)'],
  ['string_agg', `SELECT length(string_agg('xxxxxxxxxxxxxxxx', ',')) FROM range(1000000000)`],
  ['sort', 'SELECT * FROM range(1000000000) ORDER BY random()'],
  ['wide rows', `SELECT repeat('x', 100000000) FROM range(1000)`],
  ['regular expression', `SELECT regexp_matches(repeat('a', 1000000), '(a+)+$') FROM range(1000)`],
  ['nesting', `SELECT ${'('.repeat(40_000)}1${')'.repeat(40_000)}`],
]

for (const isolation of isolations) {
  describe(`SQL attacks, isolation ${isolation.kind}`, { skip: withoutSql }, () => {
    const sql = new Sql(isolation, settings.sql)
    after(() => sql.close())
    const tables = tablesOf({ Customer: { columns: [{ name: 'name', type: 'text' }], rows: [['ACME']] } })
    const run = (text: string, timeout = 3000) =>
      sql.query({ sql: text, tables, maxRows: 10, timeout, signal: signal() })

    it('refuses everything but one SELECT over the permitted tables', async () => {
      for (const statement of refused) {
        await assert.rejects(
          run(statement),
          (error) =>
            error instanceof AppError && error.code === 'invalid' && !/secret,2|root:/.test(error.message),
          statement,
        )
      }
      assert.deepEqual((await run('SELECT * FROM customer')).rows, [['ACME']])
      assert.deepEqual(readdirSync(folder), ['secret.csv'])
      assert.ok(!existsSync(join(process.cwd(), '.tmp')))
    })

    it('shows nothing of the machine in what it lets through', async () => {
      for (const statement of [
        'SELECT * FROM duckdb_settings()',
        'SELECT * FROM "duckdb_settings" ()',
        'SELECT path FROM duckdb_databases()',
        `SELECT current_setting('secret_directory')`,
        'PRAGMA database_list',
        'PRAGMA version',
        'SELECT * FROM duckdb_memory()',
        'SELECT * FROM duckdb_settings /* */ ()',
        'SELECT * FROM system.main."duckdb_settings" -- \n ()',
        'SELECT * FROM (VALUES (1)) v(x), LATERAL (FROM duckdb_settings()) s',
        'SELECT (SELECT "CURRENT_SETTING"(\'threads\'))',
        `SELECT list_transform([1], x -> system.main.current_setting('threads'))`,
        `WITH x AS MATERIALIZED (SELECT getvariable('a')) FROM x`,
        `SELECT 1 ORDER BY current_setting('threads')`,
        `SELECT error(current_setting('threads'))`,
        `DESCRIBE SELECT current_setting('threads')`,
        'SUMMARIZE FROM duckdb_settings()',
        'FROM pg_catalog.pg_settings',
        'SELECT * FROM "PG_SETTINGS"',
        'FROM duckdb_databases',
        'FROM pragma_database_list',
        'FROM pragma_version()',
        '/* */ PRAGMA /* */ version',
        `SELECT value FROM query('SELECT * FROM duckdb_' || 'settings()')`,
        `SELECT * FROM system.main."query"('FROM query(''FROM duckdb_'' || ''settings()'')')`,
        `SELECT * FROM query_table('pg_' || 'settings')`,
        `SELECT * FROM query_table(['customer', 'pg_' || 'settings'], true)`,
      ])
        await assert.rejects(run(statement), { code: 'invalid', message: /only the tables are/ }, statement)
      for (const text of [
        `concat('FROM duckdb_', 'settings()')`,
        `CASE WHEN random() > 2 THEN '' ELSE 'SELECT 1' END`,
        '$1',
      ])
        await assert.rejects(
          run(`SELECT * FROM query(${text})`),
          { message: /texts that stand in the statement/ },
          text,
        )
      await assert.rejects(
        run(`FROM json_execute_serialized_sql(json_serialize_sql('FROM duckdb_settings()'))`),
        { message: /not as JSON/ },
      )
      assert.deepEqual((await run(`SELECT 'duckdb_settings' AS word`)).rows, [['duckdb_settings']])
      assert.deepEqual((await run(`SELECT name FROM query('FROM custo' || 'mer')`)).rows, [['ACME']])
      for (const tells of [
        'SHOW TABLES',
        'DESCRIBE customer',
        `PRAGMA table_info('customer')`,
        'FROM duckdb_tables()',
      ])
        assert.equal((await run(tells)).rows.length, 1, tells)
    })

    for (const [name, statement] of bombs) {
      it(`contains a bomb of ${name} while the event loop turns`, async () => {
        const { turns, milliseconds } = await turnsDuring(() =>
          run(statement, 1000).catch((error: unknown) => assert.ok(error instanceof AppError, String(error))),
        )
        assert.ok(turns + 2 >= Math.min(5, milliseconds / 100), `${turns} turns in ${milliseconds} ms`)
        assert.deepEqual((await run('SELECT count(*) FROM customer')).rows, [[1]])
      })
    }

    it('leaves no process behind', async () => {
      await sql.close()
      assert.ok(await allGone())
    })
  })
}
