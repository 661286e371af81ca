/** What the three dashboard tools share: finding dashboards and charts, and drawing a stored chart for someone. */
import { updateDocument } from '../documents/updating.ts'
import { getDocument, listDocuments } from '../documents/reading.ts'
import { AppError } from '../core/errors.ts'
import type { Charts, ChartImage, Look } from '../analysis/charts/charts.ts'
import { type ChartPoint, chartPoints } from '../analysis/charts/chart-data.ts'
import type { ChartDefinition } from '../analysis/charts/chart-definition.ts'
import { vegaLiteOf } from '../analysis/charts/vega-lite.ts'
import { turnOf, type ToolContext } from './tool.ts'

type View = Readonly<Record<string, unknown>>
type Reader = Pick<ToolContext, 'principal' | 'documents'>

/** A dashboard that the caller owns, by its id or its name. */
export async function dashboardOf({ principal, documents }: Reader, nameOrId: string): Promise<View> {
  const { data } = await listDocuments(documents, principal, {
    doctype: 'Dashboard',
    filters: [['owner', '=', principal.user]],
    fields: ['name', 'dashboard_name'],
    limit: 1000,
  })
  const found = data.filter((view) => view['name'] === nameOrId || view['dashboard_name'] === nameOrId)
  if (found.length === 0) throw new AppError('not_found', `you have no dashboard "${nameOrId}"`)
  if (found.length > 1)
    throw new AppError(
      'invalid',
      `you have ${found.length} dashboards named "${nameOrId}"; give the id: ${found.map((view) => view['name']).join(', ')}`,
    )
  return await getDocument(documents, principal, 'Dashboard', String(found[0]!['name']))
}

/** Puts a chart at the end of a dashboard of the caller; answers the dashboard's id. */
export async function addToDashboard(context: ToolContext, nameOrId: string, chart: string): Promise<string> {
  const dashboard = await dashboardOf(context, nameOrId)
  const id = String(dashboard['name'])
  await updateDocument(context.documents, context.principal, 'Dashboard', id, {
    charts: [...itemsOf(dashboard), { chart }],
  })
  return id
}

/** The rows of a dashboard, as an update takes them. */
export function itemsOf(dashboard: View): readonly { readonly name: unknown; readonly chart: string }[] {
  const rows = dashboard['charts']
  return (Array.isArray(rows) ? rows : []).map((row: View) => ({
    name: row['name'],
    chart: String(row['chart']),
  }))
}

/** A stored chart with its numbers, over what the caller may read. AppError says why it cannot be. */
export async function calculateStored(
  { principal, documents }: Reader,
  chart: string,
  now: number,
): Promise<{ definition: ChartDefinition; kept: unknown; points: readonly ChartPoint[] }> {
  const stored = await getDocument(documents, principal, 'Dashboard Chart', chart)
  const { document_type: doctype, vega_lite: kept, ...fields } = stored
  const definition = { ...fields, doctype } as unknown as ChartDefinition
  return { definition, kept, points: await chartPoints(documents, principal, definition, now) }
}

/** The same, drawn. */
export async function drawStored(
  {
    principal,
    documents,
    signal,
    look,
  }: Pick<ToolContext, 'principal' | 'documents' | 'signal'> & { readonly look?: Look },
  charts: Charts,
  chart: string,
  now: number,
): Promise<{ readonly name: string; readonly points: readonly ChartPoint[]; readonly image: ChartImage }> {
  const { definition, kept, points } = await calculateStored({ principal, documents }, chart, now)
  const spec = typeof kept === 'object' && kept !== null ? (kept as View) : vegaLiteOf(definition)
  return {
    name: definition.chart_name,
    points,
    image: await charts.draw(spec, points, 'png', turnOf({ principal, signal }), look),
  }
}
