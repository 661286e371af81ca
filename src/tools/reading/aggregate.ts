import { AppError } from '#leaf/errors.ts'
import type { Charts } from '#sandbox/sandbox.ts'
import { type Drawing, drawingKinds } from '#figures/drawing.ts'
import { aggregateDocuments, groupName, type Metric, metricName } from '../../documents/asking/aggregating.ts'
import { withPicture } from '../analysing/draw-rows.ts'
import { asJson } from '#leaf/as-json.ts'
import { doctype, likeFilters, offset } from '../gate/arguments.ts'
import { fitRows } from '../gate/fit-rows.ts'
import { rowsShape, wholeNumberShape } from '../output-shapes.ts'
import { defineTool, type Fits, type Tool, type ToolContext } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

const input = objectWith(
  { doctype },
  {
    filters: likeFilters,
    group_by: {
      type: 'array',
      items: { type: 'string' },
      maxItems: 5,
      description: 'Fields; dates as "order_date:month" (year, quarter, week, day).',
    },
    metrics: {
      type: 'array',
      maxItems: 10,
      items: objectWith(
        {
          function: {
            type: 'string',
            enum: ['count', 'sum', 'avg', 'min', 'max'],
          },
        },
        {
          field: { type: 'string' },
          as: { type: 'string' },
        },
      ),
      description: 'Default: count.',
    },
    order_by: { type: 'string', description: 'Such as "sum_total desc".' },
    limit: { type: 'integer', minimum: 1, maximum: 1000, description: 'Default 100.' },
    offset,
  },
)

const withDrawing = {
  ...input,
  properties: {
    ...input.properties,
    draw: { type: 'string', enum: drawingKinds, description: 'Also draws the groups.' },
  },
} as const

/**
 * Answers "how many" and "how much" without handing out the rows. Refused for fields that the caller
 * cannot read on every row, since totals would tell their values.
 */
export const aggregate = aggregating(undefined)

/** Makes the tool, which also draws its groups where there is something to draw with. */
export function aggregating(charts: Charts | undefined): Tool {
  return defineTool({
    name: 'aggregate',
    title: 'Aggregate documents',
    description: 'Counts, sums, averages and extremes of documents, per group. counted tells drafts.',
    category: 'read_only',
    known: ['doctype'],
    rows: 'data',
    computes: true,
    input: charts ? withDrawing : input,
    largeOutput: rowsShape('data', { documents: wholeNumberShape }),
    example: {
      doctype: 'Sales Order',
      group_by: ['order_date:month'],
      metrics: [{ function: 'count' }, { function: 'sum', field: 'grand_total' }],
    },
    run: (args: Fits<typeof withDrawing>, context) => answered(args, context, charts),
  })
}

async function answered(
  args: Fits<typeof withDrawing>,
  context: ToolContext,
  charts: Charts | undefined,
): Promise<unknown> {
  // Spread conditionally: an argument that was left out must not become one that is undefined.
  const { doctype, filters, group_by: groupBy, metrics, limit, offset, draw: as } = args
  const drawing = as && drawingBy(as, groupBy, metrics)
  const orderBy = args.order_by ?? (drawing && isTime(groupBy) ? `${drawing.x} asc` : undefined)
  const page = await aggregateDocuments(context.documents, context.principal, {
    doctype,
    filters,
    ...(groupBy && { groupBy }),
    ...(metrics && { metrics }),
    ...(orderBy !== undefined && { orderBy }),
    ...(limit !== undefined && { limit }),
    ...(offset !== undefined && { offset }),
  })
  const { documents: number, counted } = page
  const told = { doctype, documents: number, ...(counted && { counted }) }
  const answer = fitRows({ ...told, data: page.rows }, 'data', page, context.budget)
  if (!drawing || !charts) return answer
  const names = Object.keys(page.rows[0] ?? {})
  // Amounts are decimals, which are drawn as the texts that they are in answers.
  const rows = (asJson(page.rows) as typeof page.rows).map((row) => names.map((name) => row[name]))
  return await withPicture(answer, { names, rows, total: page.total }, drawing, charts, context)
}

/** Returns the picture of groups: the first along the bottom, the second as series, each metric a line of points. */
function drawingBy(
  as: Drawing['as'],
  groupBy: readonly string[] = [],
  metrics: readonly Metric[] = [],
): Drawing {
  const [x, series, ...more] = groupBy.map(groupName)
  if (x === undefined || more.length > 0)
    throw new AppError(
      'invalid',
      `draw: a ${as} needs group_by with one field, or two: the second is the series`,
    )
  return { as, x, y: metrics.length > 0 ? metrics.map(metricName) : ['count'], series }
}

function isTime([first = '']: readonly string[] = []): boolean {
  return first.includes(':')
}
