import { readableTables } from '../documents/tables.ts'
import { analyzeResult } from '../analysis/business.ts'
import { permittedTables, type PermittedTables, sqlName } from '../analysis/permitted.ts'
import type { Sql } from '../analysis/sql/sql.ts'
import { fitRows } from './fit-rows.ts'
import { documentShape, listShape, objectShape, yesNoShape } from './output-shapes.ts'
import { defineTool, turnOf, type Tool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

const input = objectWith(
  { query: { type: 'string', minLength: 1, maxLength: 100_000, description: 'One SELECT statement.' } },
  {
    parameters: {
      type: ['array', 'object'],
      description: 'Values for ? or $1 (a list), or for $name (an object).',
    },
    analysis_type: {
      type: 'string',
      enum: ['basic', 'statistical', 'detailed'],
      description:
        'basic (default): the rows. statistical: also a summary of each column. detailed: also correlations and frequent values.',
    },
    include_schema_info: { type: 'boolean', description: 'Also list the tables and columns.' },
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Most rows to return; default 100.' },
  },
)

/** Rows that statistics are computed over, beyond those that are shown. */
const analyzedRows = 10_000

/** SQL over what the caller may read, under its name and the older one. */
export function queryAndAnalyze(sql: Sql): readonly Tool[] {
  return [
    named('query_and_analyze', 'Query and analyze', sql),
    named('run_database_query', 'Run a database query', sql),
  ]
}

function named(name: string, title: string, sql: Sql): Tool {
  return defineTool({
    name,
    title,
    description:
      'Answers one SELECT statement (DuckDB SQL: joins, WITH, window functions) over the documents that you may read. Each doctype is a table in snake_case ("Work Item" is work_item) with its fields and name, owner, creation, modified, docstatus; child tables have parent and idx. include_schema_info lists tables and columns. For single documents use get_document.',
    category: 'read_only',
    input,
    largeOutput: objectShape({ success: yesNoShape, data: listShape(documentShape), has_more: yesNoShape }),
    example: {
      query: 'SELECT status, count(*) AS orders FROM sales_order GROUP BY status ORDER BY orders DESC',
    },
    async run(args, { principal, documents, budget, signal, progress }) {
      const { query, parameters, analysis_type: depth = 'basic', limit = 100 } = args
      const tables = permittedTables(readableTables(documents, principal))
      progress(0, 2, 'running the statement')
      const { columns, rows, more, milliseconds } = await sql.query({
        sql: query,
        ...(parameters !== undefined && { parameters }),
        tables,
        // Statistics over the rows that happen to be shown would mislead.
        maxRows: depth === 'basic' ? limit : Math.max(limit, analyzedRows),
        signal,
        spent: turnOf({ principal, signal }).spent,
      })
      progress(1, 2, 'analyzing the rows')
      const shown = rows.slice(0, limit)
      const beyond = more || shown.length < rows.length
      const result = {
        success: true,
        query_executed: query,
        execution_time_ms: Math.round(milliseconds * 10) / 10,
        ...(args.include_schema_info && { schema_info: schemaOf(tables) }),
        analysis: analyzeResult(depth, columns, rows),
        data: shown.map((row) =>
          Object.fromEntries(columns.map((column, index) => [column.name, row[index]])),
        ),
      }
      const fitted = fitRows(result, 'data', { total: rows.length, offset: 0 }, budget)
      const { count, total_count: _total, next_offset: _next, note: _note, ...rest } = fitted
      const cut = (count as number) < shown.length
      return {
        ...rest,
        rows_returned: count,
        has_more: beyond || cut,
        ...(cut && {
          note: `${shown.length - (count as number)} rows were left out to keep the answer short; select fewer columns or aggregate`,
        }),
      }
    },
  })
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
