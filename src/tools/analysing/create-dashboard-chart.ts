import { createDocument } from '../../documents/writing/creating.ts'
import type { ChartImage, Charts } from '#sandbox/sandbox.ts'
import { chartStates } from '../../analysis/chart-data.ts'
import { aggregateNames, chartTypes, timeIntervals, vegaLiteOf } from '#figures/vega-lite.ts'
import { type ChartDefinition, timespans } from '../../analysis/chart-definition.ts'
import type { Clock } from '#leaf/clock.ts'
import { doctype, likeFilters } from '../gate/arguments.ts'
import { pageAddress } from '../writing/document-id.ts'
import { addToDashboard, plannedChart } from './dashboards.ts'
import { objectShape, textShape, yesNoShape } from '../output-shapes.ts'
import { defineTool, turnOf, type Tool, type ToolContext } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

const input = objectWith(
  {
    chart_name: { type: 'string', minLength: 1, maxLength: 140 },
    chart_type: { type: 'string', enum: chartTypes },
    doctype,
    aggregate_function: { type: 'string', enum: aggregateNames },
  },
  {
    value_based_on: { type: 'string', description: 'Field to sum.' },
    based_on: { type: 'string', description: 'Field to group by; not over time.' },
    time_series_based_on: {
      type: 'string',
      description: 'Field with the date.',
    },
    timespan: { type: 'string', enum: timespans, description: 'Default Last Month.' },
    time_interval: { type: 'string', enum: timeIntervals, description: 'Default Daily.' },
    filters: likeFilters,
    color: { type: 'string', pattern: '^(#[0-9a-fA-F]{3,8}|[a-z]{3,20})$' },
    dashboard_name: { type: 'string', description: 'Yours, to add it to.' },
    format: { type: 'string', enum: ['png', 'svg'] },
  },
)

/** Makes charts over the documents that the caller may read; they are kept as documents and drawn anew for each viewer. */
export function createDashboardChart(charts: Charts, clock: Clock): Tool {
  return defineTool({
    name: 'create_dashboard_chart',
    title: 'Create a chart',
    description:
      'Draws a chart over one doctype and keeps it, to be seen again with new data. line and heatmap go over time, bar too without based_on; others compare groups.',
    category: 'write',
    computes: true,
    view: 'chart',
    input,
    largeOutput: objectShape({ success: yesNoShape, chart_id: textShape }),
    example: {
      chart_name: 'Orders by status',
      chart_type: 'bar',
      doctype: 'Sales Order',
      aggregate_function: 'Count',
      based_on: 'status',
    },
    async run({ dashboard_name: dashboard, format = 'png', ...given }, context) {
      const { principal, documents, signal, progress } = context
      progress(0, 3, 'reading the documents')
      const planned = await plannedChart(context, given as ChartDefinition, clock.now())
      const { access, definition, warnings, points } = planned
      const counted = await chartStates(documents, principal, definition, clock.now())
      progress(1, 3, 'drawing')
      const spec = vegaLiteOf(definition, (name) => access.doctype.fields.get(name)?.label ?? name)
      // Drawn before it is kept: a chart that cannot be drawn is not made.
      const image = await charts.draw(spec, points, format, turnOf({ principal, signal }))
      progress(2, 3, 'keeping it')
      const chart = await keep(context, definition, spec)
      const added = dashboard === undefined ? undefined : await addToDashboard(context, dashboard, chart)
      return {
        kind: 'rich',
        data: {
          success: true,
          chart_id: chart,
          chart_name: definition.chart_name,
          added_to_dashboard: added ?? null,
          ...(added !== undefined && pageAddress(context.publicUrl, 'desk', added)),
          data_points: points.length,
          chart_validated: true,
          ...(counted && { counted }),
          points: points.slice(0, 50),
          warnings: [
            ...warnings,
            ...(points.length === 0 ? ['no document that you may read falls into the chart'] : []),
            ...remarks(image, format === 'png' ? charts.noPng : undefined),
          ],
        },
        content: [{ type: 'image', data: image.data, mimeType: image.mimeType }],
      }
    },
  })
}

async function keep(
  { documents, principal }: ToolContext,
  { doctype, filters, ...fields }: ChartDefinition,
  spec: object,
): Promise<string> {
  const { document } = await createDocument(documents, principal, 'Dashboard Chart', {
    ...fields,
    document_type: doctype,
    ...(filters !== undefined && { filters }),
    vega_lite: spec,
  })
  return String(document['name'])
}

/** Returns in which way a picture is not what was asked for. */
function remarks({ part }: ChartImage, noPng: string | undefined): string[] {
  return [
    ...(part === undefined ? [] : [`only ${part} are drawn`]),
    ...(noPng === undefined ? [] : [`drawn as SVG: ${noPng}`]),
  ]
}
