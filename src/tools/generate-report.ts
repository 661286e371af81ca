import { runReport } from '../documents/reports.ts'
import { isoTime } from '../core/clock.ts'
import { csvLine } from '../core/csv.ts'
import { fitRows } from './fit-rows.ts'
import { objectShape, textShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** How long a call waits for a report in the background before it tells the model to ask again. */
const waitMilliseconds = 20_000

/**
 * Runs a report of the site for the caller, whose rows it shows. Refused for reports that the caller
 * may not run, as if there were none, and for wrong filters, all named at once.
 */
export const generateReport = defineTool({
  name: 'generate_report',
  title: 'Run a report',
  description: 'Runs a report. A slow one answers status "running": call again with the same filters.',
  category: 'read_only',
  input: objectWith(
    { report_name: { type: 'string', description: 'As report_list names it.' } },
    {
      filters: { type: 'object', description: 'Values by filter name (report_requirements).' },
      format: { type: 'string', enum: ['json', 'csv'], description: 'Default json.' },
      offset: { type: 'integer', minimum: 0, description: 'Rows to skip.' },
    },
  ),
  largeOutput: objectShape({ report_name: textShape, status: textShape }),
  example: { report_name: 'Sales by Customer', filters: { from_date: '2026-01-01' } },
  async run(
    { report_name: name, filters = {}, format = 'json', offset = 0 },
    { principal, documents, budget, signal, progress },
  ) {
    progress(0, undefined, `running ${name}`)
    const result = await runReport(documents, principal, name, filters, { signal, wait: waitMilliseconds })
    // An answer, not a fault: the report goes on, and the same question finds its result.
    if ('pending' in result)
      return {
        report_name: name,
        status: 'running',
        started: isoTime(result.started),
        message: 'the report is still running; call generate_report again with the same filters',
      }
    const { columns, totals, capped, filters: applied, at } = result
    const rows = result.rows.slice(offset)
    const known = {
      report_name: name,
      status: 'done',
      made: isoTime(at),
      filters_applied: applied,
      columns,
      ...(totals && { totals }),
      ...(capped && { capped: `only the first ${result.rows.length} rows; narrow the filters` }),
    }
    const part = { total: result.rows.length, offset }
    if (format === 'json') return fitRows({ ...known, data: rows }, 'data', part, budget)
    const names = columns.map((column) => column.name)
    // Half of the budget: quotes and line ends are escaped in the answer.
    const lines = fitRows(
      { data: rows.map((row) => csvLine(names.map((column) => row[column]))) },
      'data',
      part,
      budget / 2,
    )
    const { data, ...rest } = lines
    return {
      ...known,
      ...rest,
      csv: [csvLine(columns.map((column) => column.label)), ...(data as string[])].join('\r\n'),
    }
  },
})
