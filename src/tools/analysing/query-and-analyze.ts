import { AppError } from '#leaf/errors.ts'
import { spanOf } from '#leaf/days.ts'
import { readAs, show } from '../../core/values.ts'
import { statesRead } from '../../documents/reports/statement-states.ts'
import { readableTables } from '../../documents/reports/tables.ts'
import { analyzeResult } from '#figures/business.ts'
import { permittedTables } from '../../analysis/permitted.ts'
import { unknownTexts } from '../../analysis/statement-values.ts'
import { wholeResult } from '#figures/whole-result.ts'
import { type PermittedTables, sqlName } from '#sandbox/tables.ts'
import type { Charts, Sql } from '#sandbox/sandbox.ts'
import { drawingKinds } from '#figures/drawing.ts'
import { withPicture } from './draw-rows.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { objectShape, rowsOf, wholeNumberShape, yesNoShape } from '../output-shapes.ts'
import { defineTool, type Fits, turnOf, type Tool, type ToolContext } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

const draw = objectWith(
  {
    as: { type: 'string', enum: drawingKinds },
    x: { type: 'string', description: 'Column along the bottom.' },
    y: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: 10,
      description: 'Columns of numbers.',
    },
  },
  {
    series: { type: 'string', description: 'Column with the series.' },
    title: { type: 'string', maxLength: 200 },
  },
)

const input = objectWith(
  { query: { type: 'string', minLength: 1, maxLength: 100_000 } },
  {
    parameters: {
      type: ['array', 'object'],
      description: 'Values for ? in order.',
    },
    analysis_type: {
      type: 'string',
      enum: ['basic', 'statistical', 'detailed'],
      description: 'statistical: also sums up columns; detailed: also correlates.',
    },
    include_schema_info: { type: 'boolean', description: 'Also list tables and columns.' },
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Default 100.' },
  },
)

const withDrawing = {
  ...input,
  properties: {
    ...input.properties,
    draw: {
      ...draw,
      description: 'Also draws the rows; keeps nothing.',
    },
  },
} as const

/** The most rows that statistics are computed over, beyond those that are shown. */
const analyzedRows = 10_000

/** Runs SQL over the rows that the caller may read, and draws them where there is something to draw with; under its name and the older one. */
export function queryAndAnalyze(sql: Sql, charts: Charts | undefined): readonly Tool[] {
  return [
    named('query_and_analyze', 'Query and analyze', sql, charts),
    { ...named('run_database_query', 'Run a database query', sql, charts), ...older },
  ]
}

function named(name: string, title: string, sql: Sql, charts: Charts | undefined): Tool {
  return defineTool({
    name,
    title,
    description:
      'Answers one SELECT (DuckDB SQL) over what you may read, joins included, and can draw it. A doctype is a table in snake_case ("Work Item" is work_item) with its fields and name, owner, creation, modified, docstatus; child tables have parent and idx.',
    category: 'read_only',
    rows: 'data',
    unlisted: ['include_schema_info', 'analysis_type'],
    computes: true,
    input: charts ? withDrawing : input,
    largeOutput: objectShape(
      { data: rowsOf },
      { rows_returned: wholeNumberShape, total_rows: wholeNumberShape, has_more: yesNoShape },
    ),
    example: {
      query: 'SELECT status, count(*) AS orders FROM sales_order GROUP BY status ORDER BY orders DESC',
    },
    run: (args: Fits<typeof withDrawing>, context) => answered(args, context, sql, charts),
  })
}

const older = {
  description: 'The older name of query_and_analyze.',
  unlisted: Object.keys(withDrawing.properties).filter((name) => name !== 'query'),
}

async function answered(
  args: Fits<typeof withDrawing>,
  context: ToolContext,
  sql: Sql,
  charts: Charts | undefined,
): Promise<unknown> {
  const { principal, documents, signal, progress } = context
  const { query, parameters, analysis_type: depth = 'basic', limit = 100 } = args
  const tables = permittedTables(readableTables(documents, principal))
  const given = withDays(parameters, documents.clock.now())
  progress(0, 2, 'running the statement')
  const asked = {
    sql: query,
    ...(given && { parameters: given.parameters }),
    tables,
    signal,
    spent: turnOf(context).spent,
  }
  // Statistics over only the rows that are shown would mislead.
  const maxRows = depth === 'basic' ? limit : Math.max(limit, analyzedRows)
  const { columns, rows, more } = await sql.query({ ...asked, maxRows })
  progress(1, 2, 'analyzing the rows')
  const wanted = depth === 'basic' ? 'count' : 'statistics'
  const whole = more ? await wholeResult(sql, asked, columns, wanted) : undefined
  const unknown = await unknownTexts(documents, principal, query, given?.parameters)
  const states = await statesRead(documents, principal, query)
  const shown = rows.slice(0, limit)
  const facts = {
    ...(states !== undefined && { counted: states }),
    ...(unknown.length > 0 && { warnings: unknown }),
    ...(args.include_schema_info && { schema_info: schemaOf(tables) }),
    ...(given && given.read.length > 0 && { parameters_read: given.read }),
    ...(depth !== 'basic' && { analysis: analyzeResult(depth, columns, rows, whole) }),
    data: shown.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]))),
  }
  const total = more ? whole?.total : rows.length
  const answer = counted(facts, shown.length, total, context.budget)
  if (!args.draw || !charts) return answer
  const names = columns.map(({ name }) => name)
  return await withPicture(answer, { names, rows: shown, total }, args.draw, charts, context)
}

/** Cuts the rows to the budget, and tells how many there are in all. */
function counted(
  facts: Readonly<Record<string, unknown>>,
  shown: number,
  total: number | undefined,
  budget: number,
): Readonly<Record<string, unknown>> {
  const fitted = fitRows(facts, 'data', { total: shown, offset: 0 }, budget)
  const { count, total_count: _total, next_offset: _next, note: _note, ...rest } = fitted
  const left = shown - (count as number)
  return {
    ...rest,
    rows_returned: count,
    ...(total !== undefined && { total_rows: total }),
    has_more: count !== total,
    ...(left > 0 && {
      note: `${left} rows were left out to keep the answer short; select fewer columns or aggregate`,
    }),
  }
}

type Parameters = readonly unknown[] | Readonly<Record<string, unknown>>

/** Reads days in words among the values, and tells how each was read. AppError `invalid` for a period where one day is due. */
function withDays(
  given: Parameters | undefined,
  now: number,
): { readonly parameters: Parameters; readonly read: readonly string[] } | undefined {
  if (given === undefined) return undefined
  const read: string[] = []
  const valueOf = (value: unknown): unknown => {
    if (typeof value === 'object' && value !== null)
      throw new AppError(
        'invalid',
        `parameters: ${show(value)} is no single value; write IN (?, ?) and one value each`,
      )
    // A year or a month alone may be a text; words are hardly ever one.
    if (typeof value !== 'string' || !/^[a-z]/i.test(value) || !spanOf(value, now)) return value
    const day = readAs('date', value, { now })
    if ('problem' in day) throw new AppError('invalid', `parameters: ${day.problem}`)
    read.push(`"${value}" is ${String(day.value)}`)
    return day.value
  }
  const parameters = Array.isArray(given)
    ? given.map(valueOf)
    : Object.fromEntries(Object.entries(given).map(([name, value]) => [name, valueOf(value)]))
  return { parameters, read }
}

function schemaOf({ tables }: PermittedTables): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    tables.map((table) => [
      sqlName(table.name),
      {
        doctype: table.name,
        columns: Object.fromEntries(table.columns.map(({ name, type }) => [name, type])),
      },
    ]),
  )
}
