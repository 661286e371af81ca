/**
 * How long a statement and a program take over 10 000 rows, warm, cold and of eight users at once, beside DuckDB without
 * anything around it (its own command line where `duckdb` is installed, and its Node binding) and beside bare `python3`:
 * `node --import tsx packages/sandbox/bench/warm.ts`. A program is warm when the interpreter runs that it
 * becomes a fork of, a statement when the caller asked before and nothing was written since. What is compared takes turns.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import type { Column, PermittedTables } from '#sandbox/tables.ts'
import { Python, type PythonProgram } from '#sandbox/python/python.ts'
import { probeIsolation } from '#sandbox/isolation/bubblewrap.ts'
import { defaultSandboxSettings } from '#sandbox/settings.ts'
import { Sql } from '#sandbox/sql/sql.ts'

const ROWS = 10_000
const ROUNDS = 15
/** What starts processes each time. */
const SLOW_ROUNDS = 5
const USERS = 8

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
console.log(
  `${ROWS} rows of ${columns.length} columns, median of ${ROUNDS} or ${SLOW_ROUNDS}, isolation ${isolation.kind}`,
)

const settings = defaultSandboxSettings()
const sql = new Sql(isolation, settings.sql)
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
  const fresh = new Sql(isolation, settings.sql)
  await fresh.query({ sql: statement, tables: tables(), maxRows: 100, signal })
  await fresh.close()
}
const bare = await bareDuckDb()
await beside(SLOW_ROUNDS, { 'SQL, cold (no process waits)': cold, ...bare.cold })
report('SQL, first of a user (a process waits)', [await timed(query)])
await beside(ROUNDS, { 'SQL, warm': query, 'bare DuckDB, warm': bare.warm })
const again = async () => {
  revision++
  await query()
}
await beside(ROUNDS, {
  'SQL, after a write (rows are loaded again)': again,
  'bare DuckDB, rows loaded': bare.load,
})
const users = () =>
  Promise.all(
    Array.from({ length: USERS }, (_, n) =>
      sql.query({ sql: statement, tables: { ...tables(), key: `u${n}` }, maxRows: 100, signal }),
    ),
  )
await beside(SLOW_ROUNDS, {
  [`SQL, ${USERS} users at once, all answered`]: users,
  [`bare DuckDB, ${USERS} connections at once, warm`]: bare.many,
})
await sql.close()
bare.close()

if (isolation.kind === 'bubblewrap') {
  const python = new Python(isolation, settings.python)
  report('Python, cold start', [await timed(() => python.probe())])
  console.log(
    `  with ${Object.entries(python.versions)
      .map((pair) => pair.join(' '))
      .join(', ')}`,
  )
  const run =
    (code: string, data?: PythonProgram['data'], owner = 'u') =>
    async () => {
      const { error } = await python.run({ code, ...(data && { data }), owner, signal })
      if (error) throw new Error(error.traceback)
    }
  const started = (code: string) => () => promisify(execFile)('/usr/bin/python3', ['-c', code])
  const many = (work: (n: number) => () => Promise<unknown>) => () =>
    Promise.all(Array.from({ length: USERS }, (_, n) => work(n)()))
  const [plain, ours] = await beside(ROUNDS, {
    'bare python3 -c pass': started('pass'),
    'Python, warm, no data, pandas loaded': run('1 + 1'),
  })
  const [median, least] = [at(ours!, 0.5) / at(plain!, 0.5), at(ours!, 0) / at(plain!, 0)]
  console.log(
    `  ${median.toFixed(2)} times (least: ${least.toFixed(2)}) the bare interpreter, which has no pandas; wanted: 3 at most`,
  )
  await beside(SLOW_ROUNDS, {
    'bare python3 -c "import pandas"': started('import pandas'),
    'Python, warm, sum over data': run('sum(row["total"] for row in data)', { columns, pages: [rows] }),
    'Python, warm, groupby on df': run('df.groupby("customer").total.sum().head()', {
      columns,
      pages: [rows],
    }),
  })
  const frame = 'len(pd.DataFrame([1]))'
  await beside(SLOW_ROUNDS, {
    [`Python, ${USERS} users at once, all answered`]: many((n) => run(frame, undefined, `u${n}`)),
    [`bare python3, ${USERS} at once, the same`]: many(() => started(`import pandas as pd; ${frame}`)),
  })
  await python.close()
} else console.log(`Python: ${isolation.reason}`)

/** The same statement over the same rows, without a sandbox, permissions or a wire. */
async function bareDuckDb() {
  const folder = mkdtempSync(join(tmpdir(), 'assistant-core-bench-'))
  const file = join(folder, 'sales_order.csv')
  writeFileSync(file, [columns.map(({ name }) => name), ...rows].map((row) => row.join(',')).join('\n'))
  const load = `CREATE OR REPLACE TABLE sales_order AS FROM read_csv('${file}')`
  const once = `const { DuckDBInstance } = await import(process.argv[1]); const made = await DuckDBInstance.create(':memory:'); const to = await made.connect(); await to.runAndReadAll(process.argv[2])`
  const binding = import.meta.resolve('@duckdb/node-api')
  const run = promisify(execFile)
  const instance = await DuckDBInstance.create(':memory:')
  const connections = await Promise.all(Array.from({ length: USERS }, () => instance.connect()))
  const one = connections[0]!
  await one.run(load)
  const own = await run('duckdb', ['-version']).catch((error: NodeJS.ErrnoException) => error)
  if (own instanceof Error) console.log(`DuckDB's own command line is not installed here (${own.code})`)
  return {
    cold: {
      'bare DuckDB, cold (node, load, statement)': () =>
        run(process.execPath, ['--input-type=module', '-e', once, binding, `${load}; ${statement}`]),
      ...(!(own instanceof Error) && {
        "DuckDB's own command line, cold": () => run('duckdb', ['-c', `${load}; ${statement}`]),
      }),
    },
    warm: () => one.runAndReadAll(statement),
    load: () => one.runAndReadAll(`${load}; ${statement}`),
    many: () => Promise.all(connections.map((each) => each.runAndReadAll(statement))),
    close: () => {
      for (const each of connections) each.closeSync()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Each in turn, so that what slows the machine slows them alike. */
async function beside(
  count: number,
  works: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<number[][]> {
  const times = Object.keys(works).map(() => [] as number[])
  for (let round = 0; round < count; round++)
    for (const [n, work] of Object.values(works).entries()) times[n]!.push(await timed(work))
  for (const [n, what] of Object.keys(works).entries()) report(what, times[n]!)
  return times
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function report(what: string, times: readonly number[]): void {
  const [median, least, most] = [0.5, 0, 1].map((share) => at(times, share).toFixed(1))
  console.log(`${what.padEnd(45)} ${median!.padStart(8)} ms   (least ${least}, most ${most})`)
}

function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}
