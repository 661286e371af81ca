/** What can be said of all rows of a statement when only the first were handed out: the engine counts and computes over all. */
import { AppError } from '#leaf/errors.ts'
import type { Sql } from '#sandbox/sandbox.ts'
import { type NumberSummary, rounded } from './statistics.ts'

type Query = Parameters<Sql['query']>[0]
/** A column of a result, with the engine's name of its type. */
export interface SqlColumn {
  readonly name: string
  readonly type: string
}

/** The number of all rows and, where they were asked for, facts of each column. */
export interface WholeResult {
  readonly total: number
  readonly summaries?: Readonly<Record<string, NumberSummary>>
  readonly missing?: Readonly<Record<string, number>>
}

const numeric = /^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL)/
const measures = [
  'count',
  'avg',
  'stddev_samp',
  'min',
  'quantile_cont .25',
  'quantile_cont .5',
  'quantile_cont .75',
  'max',
]

/** Asks for all rows of a statement; undefined where it cannot stand within another, as DESCRIBE cannot. */
export async function wholeResult(
  sql: Sql,
  query: Omit<Query, 'maxRows'>,
  columns: readonly SqlColumn[],
  wanted: 'count' | 'statistics',
): Promise<WholeResult | undefined> {
  const numbers = columns
    .map((column, index) => ({ ...column, index }))
    .filter(({ type }) => numeric.test(type))
  const facts =
    wanted === 'count'
      ? []
      : [
          ...columns.map((_, index) => `count(c${index})`),
          ...numbers.flatMap(({ index }) =>
            measures.map((measure) => {
              const [name, share] = measure.split(' ')
              return `${name}(c${index}::DOUBLE${share === undefined ? '' : `, ${share}`})::DOUBLE`
            }),
          ),
        ]
  const names = columns.map((_, index) => `c${index}`).join(', ')
  const statement = `SELECT ${['count(*)', ...facts].join(', ')} FROM (${query.sql.replace(/;\s*$/, '')}\n) AS asked(${names})`
  let row: readonly unknown[]
  try {
    row = (await sql.query({ ...query, sql: statement, maxRows: 1 })).rows[0]!
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid') return undefined
    throw error
  }
  const total = Number(row[0])
  if (wanted === 'count') return { total }
  const missing = columns.map(({ name }, index) => [name, total - Number(row[index + 1])] as const)
  const summaries = numbers.flatMap(({ name }, at) => {
    const from = 1 + columns.length + at * measures.length
    const [count, mean, std, min, low, median, high, max] = row.slice(
      from,
      from + measures.length,
    ) as number[]
    if (!count) return []
    const quartiles = { '25%': rounded(low!), '50%': rounded(median!), '75%': rounded(high!) }
    const spread = std === null || std === undefined ? null : rounded(std)
    return [[name, { count, mean: rounded(mean!), std: spread, min: min!, ...quartiles, max: max! }] as const]
  })
  return { total, missing: Object.fromEntries(missing), summaries: Object.fromEntries(summaries) }
}
