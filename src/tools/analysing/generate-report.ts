import { runReport } from '../../documents/reports/reports.ts'
import { isoTime } from '#leaf/clock.ts'
import { csvLine } from '#leaf/csv.ts'
import { offset } from '../gate/arguments.ts'
import { pageAddress } from '../writing/document-id.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { objectShape, textShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Milliseconds that a call waits for a report in the background before it tells the model to ask again. */
const waitMilliseconds = 20_000

/**
 * Runs a report of the site over the rows that the caller may read. Refused for reports that the caller
 * may not run, as if there were none, and for wrong filters, all named at once.
 */
export const generateReport = defineTool({
  name: 'generate_report',
  title: 'Run a report',
  description:
    'Runs a report of report_list. A slow one answers status "running": call again with the same filters.',
  category: 'read_only',
  known: ['report_name', 'columns'],
  rows: 'data',
  computes: true,
  input: objectWith(
    { report_name: { type: 'string' } },
    {
      filters: { type: 'object', description: 'Values by filter name (report_requirements).' },
      format: { type: 'string', enum: ['json', 'csv'] },
      offset,
    },
  ),
  largeOutput: objectShape({ status: textShape }),
  example: { report_name: 'Sales by Customer', filters: { from_date: '2026-01-01' } },
  async run(
    { report_name: name, filters = {}, format = 'json', offset = 0 },
    { principal, documents, budget, signal, progress, publicUrl },
  ) {
    progress(0, undefined, `running ${name}`)
    const result = await runReport(documents, principal, name, filters, { signal, wait: waitMilliseconds })
    // This is an answer and no fault: the report goes on, and the same question finds its result.
    if ('pending' in result)
      return {
        report_name: name,
        status: 'running',
        started: isoTime(result.started),
        message: 'the report is still running; call generate_report again with the same filters',
      }
    const { columns, totals, counted, capped, filters: applied, at } = result
    const rows = result.rows.slice(offset)
    const known = {
      report_name: name,
      status: 'done',
      ...reportAddress(publicUrl, name, applied),
      made: isoTime(at).replace(/\.\d+/, ''),
      filters_applied: applied,
      columns,
      ...(totals && { totals }),
      ...(counted && { counted }),
      ...(capped && { capped: `only the first ${result.rows.length} rows; narrow the filters` }),
    }
    const part = { total: result.rows.length, offset }
    if (format === 'json') return fitRows({ ...known, data: rows }, 'data', part, budget)
    const names = columns.map((column) => column.name)
    // Half of the budget, because quotes and line ends are escaped in the answer.
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

/** Returns the address of the page of a report with these filters, as its form sends them. */
function reportAddress(
  publicUrl: string | undefined,
  name: string,
  filters: Readonly<Record<string, unknown>>,
): { readonly url: string } | undefined {
  const page = pageAddress(publicUrl, 'reports', name)
  const entries = Object.entries(filters).map(([key, value]): [string, unknown] => [`f.${key}`, value])
  // A number with a point is read there as the reader's language has it.
  const isPlain = entries.every(([, value]) => typeof value === 'string' || Number.isInteger(value))
  if (!page || entries.length === 0 || !isPlain) return page
  return { url: `${page.url}?${new URLSearchParams(entries as [string, string][]).toString()}` }
}
