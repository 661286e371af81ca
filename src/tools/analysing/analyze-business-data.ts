import { readTableRows } from '../../documents/reports/tables.ts'
import { analyzeBusiness, businessAnalyses } from '#figures/business.ts'
import { columnOf } from '../../analysis/permitted.ts'
import { doctype, likeFilters } from '../gate/arguments.ts'
import { objectShape, wholeNumberShape, yesNoShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * A first look at the data of one doctype, computed here so that a model need not read the rows. It
 * reads at most 10,000 documents, and no field that is masked for the caller.
 */
export const analyzeBusinessData = defineTool({
  name: 'analyze_business_data',
  title: 'Analyze business data',
  description:
    'Describes documents of a doctype: profile of each field, statistics, trends, quality (missing, repeated, negative values), correlations.',
  category: 'read_only',
  computes: true,
  input: objectWith(
    { doctype, analysis_type: { type: 'string', enum: businessAnalyses } },
    {
      fields: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 100,
        description: 'Default all.',
      },
      filters: likeFilters,
      date_field: { type: 'string', description: 'For trends; default creation.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 10_000,
        description: 'Most documents, newest first; default all.',
      },
    },
  ),
  largeOutput: objectShape({
    success: yesNoShape,
    record_count: wholeNumberShape,
    total_count: wholeNumberShape,
  }),
  example: { doctype: 'Sales Order', analysis_type: 'trends', date_field: 'creation' },
  async run(
    { doctype, analysis_type: kind, fields, filters, date_field: dateField = 'creation', limit = 10_000 },
    { principal, documents, progress },
  ) {
    progress(0, 2, 'reading the documents')
    // Trends need the date, whether it was asked for or not.
    const wanted = fields && fields.length > 0 && kind === 'trends' ? [...fields, dateField] : fields
    const page = await readTableRows(documents, principal, {
      doctype,
      ...(wanted && { fields: wanted }),
      ...(filters !== undefined && { filters }),
      limit,
    })
    progress(1, 2, 'analyzing')
    const columns = page.columns.map(columnOf)
    return {
      success: true,
      doctype,
      analysis_type: kind,
      record_count: page.rows.length,
      total_count: page.total,
      ...(page.counted && { counted: page.counted }),
      ...(page.moreThanTotal && { more_than_total: true }),
      ...((page.moreThanTotal || page.rows.length < page.total) && {
        note: `a sample: the newest ${page.rows.length} documents, not all; query_and_analyze computes over all`,
      }),
      analysis_result: analyzeBusiness(kind, { columns, rows: page.rows, dateField }),
    }
  },
})
