import { listReports } from '../documents/reports.ts'
import { documentShape, listShape, objectShape, wholeNumberShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** Questions that the site has formulated already, as far as the caller may ask them. */
export const reportList = defineTool({
  name: 'report_list',
  title: 'List reports',
  description: 'The reports that you may run.',
  category: 'read_only',
  input: objectWith(
    {},
    {
      module: { type: 'string', description: 'Only of this module.' },
      report_type: { type: 'string', enum: ['declarative', 'sql'], description: 'Only of this type.' },
    },
  ),
  largeOutput: objectShape({ reports: listShape(documentShape), count: wholeNumberShape }),
  example: { module: 'Selling' },
  run: ({ module, report_type: type }, { principal, documents }) => {
    const reports = listReports(documents, principal)
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
    return Promise.resolve({ reports, count: reports.length })
  },
})
