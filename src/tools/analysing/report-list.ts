import { AppError } from '#leaf/errors.ts'
import { unknownAmong } from '#leaf/names.ts'
import { listReports } from '../../documents/reports/reports.ts'
import { pageAddress } from '../writing/document-id.ts'
import { objectShape, rowsOf, wholeNumberShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Lists the site's ready-made reports, as far as the caller may run them. */
export const reportList = defineTool({
  name: 'report_list',
  title: 'List reports',
  description: 'The reports that you may run.',
  category: 'read_only',
  unlisted: ['module', 'report_type'],
  rows: 'reports',
  input: objectWith(
    {},
    {
      module: { type: 'string', description: 'Only of this module.' },
      report_type: { type: 'string', enum: ['declarative', 'sql'], description: 'Only of this type.' },
    },
  ),
  largeOutput: objectShape({ reports: rowsOf, count: wholeNumberShape }),
  example: { module: 'Selling' },
  run: ({ module, report_type: type }, { principal, documents, publicUrl }) => {
    const all = listReports(documents, principal)
    const modules = new Set(all.map((report) => report.module))
    if (module !== undefined && !modules.has(module))
      throw new AppError('invalid', unknownAmong('module', module, [...modules]))
    const reports = all
      .filter(
        (report) =>
          (module === undefined || report.module === module) && (type === undefined || report.type === type),
      )
      .map((report) => ({
        name: report.name,
        report_type: report.type,
        module: report.module,
        description: report.description,
        required_filters: report.filters.filter((filter) => filter.required).map((filter) => filter.name),
      }))
    return Promise.resolve({ reports, count: reports.length, ...pageAddress(publicUrl, 'reports') })
  },
})
