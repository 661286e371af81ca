/**
 * How long a warm statement and a warm program take over 10 000 rows, beside what they cost cold, beside DuckDB without
 * anything around it (its own command line where `duckdb` is installed, and its Node binding) and beside bare `python3`:
 * `node --import tsx bench/analysis/warm.ts`. A program is warm when the interpreter runs that it
 * becomes a fork of, a statement when the caller asked before and nothing was written since.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Column, PermittedTables } from '../../src/analysis/permitted.ts'
import { Python, type PythonProgram } from '../../src/analysis/python/python.ts'
import { probeIsolation } from '../../src/analysis/sandbox/bubblewrap.ts'
import { defaultAnalysisSettings } from '../../src/analysis/settings.ts'
import { Sql } from '../../src/analysis/sql/sql.ts'

const ROWS = 10_000
const ROUNDS = 15

const columns: Column[] = [
  { name: 'name', type: 'text' },
  { name: 'customer', type: 'text' },
  { name: 'total', type: 'number' },
  { name: 'qty', type: 'integer' },
  { name: 'day', type: 'date' },
  { name: 'status', type: 'text' },
]
const rows = Array.from({ length: ROWS }, (_, n) => [
  `SO-${n}`,
  `Customer ${n % 97}`,
  n * 1.25,
  n % 13,
  `2026-0${1 + (n % 9)}-15`,
  ['Draft', 'To Deliver', 'Completed'][n % 3],
])
const signal = new AbortController().signal
const isolation = await probeIsolation()
console.log(`${ROWS} rows of ${columns.length} columns, median of ${ROUNDS}, isolation ${isolation.kind}`)

const sql = new Sql(isolation, defaultAnalysisSettings.sql)
let revision = 0
const tables = (): PermittedTables => ({
  key: 'bench',
  tables: [
    {
      name: 'Sales Order',
      columns,
      read: () =>
        Promise.resolve({
          revision: String(revision),
          async *pages() {
            yield rows
          },
        }),
    },
  ],
})
const statement =
  'SELECT customer, sum(total) AS total FROM sales_order GROUP BY customer ORDER BY total DESC'
const query = () => sql.query({ sql: statement, tables: tables(), maxRows: 100, signal })
const cold = async () => {
  const fresh = new Sql(isolation, defaultAnalysisSettings.sql)
  await fresh.query({ sql: statement, tables: tables(), maxRows: 100, signal })
  await fresh.close()
}
report('SQL, cold (no process waits)', await rounds(cold))
await bareDuckDb()
report('SQL, first of a user (a process waits)', [await timed(query)])
report('SQL, warm', await rounds(query))
report('SQL, after a write (rows are loaded again)', await rounds(query, () => void revision++))
const users = () =>
  Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      sql.query({ sql: statement, tables: { ...tables(), key: `u${n}` }, maxRows: 100, signal }),
    ),
  )
report('SQL, 8 users at once, all answered', await rounds(users))
await sql.close()

if (isolation.kind === 'bubblewrap') {
  const python = new Python(isolation, defaultAnalysisSettings.python)
  report('Python, cold start', [await timed(() => python.probe())])
  console.log(
    `  with ${Object.entries(python.versions)
      .map((pair) => pair.join(' '))
      .join(', ')}`,
  )
  const run = (code: string, data?: PythonProgram['data']) => async () => {
    const { error } = await python.run({ code, ...(data && { data }), signal })
    if (error) throw new Error(error.traceback)
  }
  const bare = await rounds(() => promisify(execFile)('/usr/bin/python3', ['-c', 'pass']))
  report('bare python3 -c pass, beside it', bare)
  report('Python, warm, no data', await rounds(run('1 + 1')))
  report(
    'Python, warm, sum over data',
    await rounds(run('sum(row["total"] for row in data)', { columns, pages: [rows] })),
  )
  if (python.versions['pandas'] !== undefined)
    report(
      'Python, warm, groupby on df',
      await rounds(run('df.groupby("customer").total.sum().head()', { columns, pages: [rows] })),
    )
  const eight = () =>
    Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        python.run({ code: 'len(pd.DataFrame([1]))', owner: `u${n}`, signal }),
      ),
    )
  report('Python, 8 users at once, all answered', await rounds(eight))
  await python.close()
} else console.log(`Python: ${isolation.reason}`)

/** The same statement over the same rows, without a sandbox, permissions or a wire. */
async function bareDuckDb(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assistant-core-bench-'))
  const file = join(folder, 'sales_order.csv')
  writeFileSync(file, [columns.map(({ name }) => name), ...rows].map((row) => row.join(',')).join('\n'))
  const over = `CREATE TABLE sales_order AS FROM read_csv('${file}'); ${statement}`
  const once = `const { DuckDBInstance } = await import(process.argv[1]); const made = await DuckDBInstance.create(':memory:'); const to = await made.connect(); await to.runAndReadAll(process.argv[2])`
  const binding = import.meta.resolve('@duckdb/node-api')
  const run = promisify(execFile)
  report(
    'bare DuckDB, cold (node, load, statement)',
    await rounds(() => run(process.execPath, ['--input-type=module', '-e', once, binding, over])),
  )
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run(`CREATE TABLE sales_order AS FROM read_csv('${file}')`)
  report('bare DuckDB, warm', await rounds(() => connection.runAndReadAll(statement)))
  try {
    report("DuckDB's own command line, cold", await rounds(() => run('duckdb', ['-c', over])))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    console.log("DuckDB's own command line: not installed here")
  }
  connection.closeSync()
  rmSync(folder, { recursive: true })
}

async function rounds(
  work: () => Promise<unknown>,
  before: () => unknown = () => undefined,
): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await before()
    times.push(await timed(work))
  }
  return times
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function report(what: string, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b)
  const at = (share: number): string =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1)
  console.log(`${what.padEnd(45)} ${at(0.5).padStart(8)} ms   (least ${at(0)}, most ${at(1)})`)
}
