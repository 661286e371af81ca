import { aggregateDocuments } from '../documents/aggregating.ts'
import { doctype, likeFilters, offset } from './arguments.ts'
import { fitRows } from './fit-rows.ts'
import { rowsShape, textShape, wholeNumberShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/**
 * Answers "how many" and "how much" without handing out the rows. Refused for fields that the caller
 * cannot read on every row, since totals would tell their values.
 */
export const aggregate = defineTool({
  name: 'aggregate',
  title: 'Aggregate documents',
  description: 'Counts, sums, averages and extremes of documents, per group, largest first.',
  category: 'read_only',
  input: objectWith(
    { doctype },
    {
      filters: likeFilters,
      group_by: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 5,
        description: 'Fields; dates also as "order_date:month" (year, quarter, month, week, day).',
      },
      metrics: {
        type: 'array',
        maxItems: 10,
        items: objectWith(
          {
            function: {
              type: 'string',
              enum: ['count', 'sum', 'avg', 'min', 'max'],
              description: 'What to compute.',
            },
          },
          {
            field: { type: 'string', description: 'Of which field.' },
            as: { type: 'string', description: 'Column name.' },
          },
        ),
        description: 'Default: count. [{"function": "sum", "field": "grand_total"}]',
      },
      order_by: { type: 'string', description: 'A column, such as "sum_grand_total desc".' },
      limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Most groups; default 100.' },
      offset,
    },
  ),
  largeOutput: rowsShape('data', { doctype: textShape, documents: wholeNumberShape }),
  example: {
    doctype: 'Sales Order',
    group_by: ['order_date:month'],
    metrics: [{ function: 'count' }, { function: 'sum', field: 'grand_total' }],
  },
  async run(args, { principal, documents, budget }) {
    // Spread conditionally: an argument that was left out must not become an undefined one.
    const { doctype, filters, group_by: groupBy, metrics, order_by: orderBy, limit, offset } = args
    const page = await aggregateDocuments(documents, principal, {
      doctype,
      filters,
      ...(groupBy && { groupBy }),
      ...(metrics && { metrics }),
      ...(orderBy !== undefined && { orderBy }),
      ...(limit !== undefined && { limit }),
      ...(offset !== undefined && { offset }),
    })
    return fitRows({ doctype, documents: page.documents, data: page.rows }, 'data', page, budget)
  },
})
