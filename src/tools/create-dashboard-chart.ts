import { readableColumns } from '../documents/tables.ts'
import { createDocument } from '../documents/creating.ts'
import type { Charts } from '../analysis/charts/charts.ts'
import { chartPoints } from '../analysis/charts/chart-data.ts'
import {
  aggregateNames,
  type ChartDefinition,
  chartTypes,
  completeChart,
  timeIntervals,
  timespans,
} from '../analysis/charts/chart-definition.ts'
import { vegaLiteOf } from '../analysis/charts/vega-lite.ts'
import type { Clock } from '../core/clock.ts'
import { doctype, filters } from './arguments.ts'
import { addToDashboard } from './dashboards.ts'
import { objectShape, textShape, yesNoShape } from './output-shapes.ts'
import { defineTool, turnOf, type Tool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

const input = objectWith(
  {
    chart_name: { type: 'string', minLength: 1, maxLength: 140 },
    chart_type: { type: 'string', enum: chartTypes },
    doctype,
    aggregate_function: { type: 'string', enum: aggregateNames },
  },
  {
    value_based_on: { type: 'string', description: 'The field to sum or average.' },
    based_on: { type: 'string', description: 'The field to group by (bar, pie, donut, percentage).' },
    time_series_based_on: { type: 'string', description: 'The date of a document (line, heatmap).' },
    timespan: { type: 'string', enum: timespans, description: 'Default Last Month.' },
    time_interval: { type: 'string', enum: timeIntervals, description: 'Default Daily.' },
    filters,
    color: { type: 'string', pattern: '^(#[0-9a-fA-F]{3,8}|[a-z]{3,20})$' },
    dashboard_name: { type: 'string', description: 'A dashboard of yours to add it to, by name or id.' },
    format: { type: 'string', enum: ['png', 'svg'], description: 'Of the picture; default png.' },
  },
)

/** Charts over what the caller may read, kept as documents and drawn anew for whoever looks. */
export function createDashboardChart(charts: Charts, clock: Clock): Tool {
  return defineTool({
    name: 'create_dashboard_chart',
    title: 'Create a chart',
    description:
      'Draws a chart over one doctype and keeps it, so that it can be looked at again with the data of that day. line and heatmap go over time; bar, pie, donut and percentage compare groups. Returns the picture. Use create_dashboard to put charts together, query_and_analyze for numbers.',
    category: 'write',
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
      const { columns } = readableColumns(documents, principal, given.doctype)
      const { definition, warnings } = completeChart(given as ChartDefinition, columns)
      progress(0, 3, 'reading the documents')
      const points = await chartPoints(documents, principal, definition, clock.now())
      progress(1, 3, 'drawing')
      const spec = vegaLiteOf(definition)
      // Drawn before it is kept: a chart that cannot be drawn is not made.
      const image = await charts.draw(spec, points, format, turnOf({ principal, signal }))
      progress(2, 3, 'keeping it')
      const { doctype: documentType, filters, ...fields } = definition
      const { document } = await createDocument(documents, principal, 'Dashboard Chart', {
        ...fields,
        document_type: documentType,
        ...(filters !== undefined && { filters }),
        vega_lite: spec,
      })
      const chart = String(document['name'])
      const added = dashboard === undefined ? undefined : await addToDashboard(context, dashboard, chart)
      return {
        kind: 'rich',
        data: {
          success: true,
          chart_id: chart,
          chart_name: definition.chart_name,
          added_to_dashboard: added ?? null,
          data_points: points.length,
          chart_validated: true,
          points: points.slice(0, 50),
          warnings: [
            ...warnings,
            ...(points.length === 0 ? ['no document that you may read falls into the chart'] : []),
            ...(format === 'png' && charts.noPng !== undefined ? [`drawn as SVG: ${charts.noPng}`] : []),
          ],
        },
        content: [{ type: 'image', data: image.data, mimeType: image.mimeType }],
      }
    },
  })
}
