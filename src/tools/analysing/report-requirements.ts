import { findReport } from '../../documents/reports/reports.ts'
import { pageAddress } from '../writing/document-id.ts'
import { objectShape, textShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** Lists the filters of a report before it runs, so that `generate_report` succeeds the first time. */
export const reportRequirements = defineTool({
  name: 'report_requirements',
  title: 'Describe a report',
  description: 'The filters and columns of a report; read it before generate_report.',
  category: 'read_only',
  unlisted: ['include_columns', 'include_filters'],
  input: objectWith(
    { report_name: { type: 'string' } },
    {
      include_columns: { type: 'boolean' },
      include_filters: { type: 'boolean' },
    },
  ),
  largeOutput: objectShape({ report_name: textShape, report_type: textShape, description: textShape }),
  example: { report_name: 'Sales by Customer' },
  run: (
    { report_name: name, include_columns: columns = true, include_filters: filters = true },
    { principal, documents, publicUrl },
  ) => {
    const report = findReport(documents, principal, name)
    const names = (required: boolean) =>
      report.filters.filter((filter) => filter.required === required).map((filter) => filter.name)
    return Promise.resolve({
      report_name: report.name,
      report_type: report.type,
      description: report.description,
      ...pageAddress(publicUrl, 'reports', report.name),
      doctypes: report.doctypes,
      ...(columns &&
        report.columns.length > 0 && { columns: report.columns.map(({ name, label }) => ({ name, label })) }),
      ...(filters && {
        filters_definition: report.filters.map((filter) => ({
          name: filter.name,
          label: filter.label,
          type: filter.type,
          ...(filter.required && { required: true }),
          ...(filter.default !== undefined && { default: filter.default }),
          ...(filter.options.length > 0 && { options: filter.options }),
          ...(filter.doctype !== undefined && { doctype: filter.doctype }),
          ...(filter.description !== '' && { description: filter.description }),
        })),
        required_filter_names: names(true),
        optional_filter_names: names(false),
      }),
      max_rows: report.maxRows,
      ...(report.cacheSeconds !== undefined && { background: true, cache_seconds: report.cacheSeconds }),
    })
  },
})
