/** Shared by the three dashboard tools: finding dashboards and charts, and drawing a stored chart for a viewer. */
import { updateDocument } from '../documents/writing/updating.ts'
import { getDocument, listDocuments } from '../documents/asking/reading.ts'
import { AppError } from '#leaf/errors.ts'
import { meantOrKnown } from '#leaf/names.ts'
import type { Charts, ChartImage, ChartPoint, Look } from '#sandbox/sandbox.ts'
import { chartPoints } from '../analysis/chart-data.ts'
import type { ChartDefinition } from '../analysis/chart-definition.ts'
import { vegaLiteOf } from '../analysis/vega-lite.ts'
import { turnOf, type ToolContext } from './tool.ts'

type View = Readonly<Record<string, unknown>>
type Reader = Pick<ToolContext, 'principal' | 'documents'>

/** Finds a dashboard that the caller owns, by its id or its name. */
export async function dashboardOf({ principal, documents }: Reader, nameOrId: string): Promise<View> {
  const { data } = await listDocuments(documents, principal, {
    doctype: 'Dashboard',
    filters: [['owner', '=', principal.user]],
    fields: ['name', 'dashboard_name'],
    limit: 1000,
  })
  const found = data.filter((view) => view['name'] === nameOrId || view['dashboard_name'] === nameOrId)
  if (found.length === 0)
    throw new AppError(
      'not_found',
      `you have no dashboard "${nameOrId}"${meantOrKnown(
        nameOrId,
        data.map((view) => String(view['dashboard_name'])),
      )} (create_dashboard makes one)`,
    )
  if (found.length > 1)
    throw new AppError(
      'invalid',
      `you have ${found.length} dashboards named "${nameOrId}"; give the id: ${found.map((view) => view['name']).join(', ')}`,
    )
  return await getDocument(documents, principal, 'Dashboard', String(found[0]!['name']))
}

/** Adds a chart at the end of a dashboard of the caller; returns the dashboard's id. */
export async function addToDashboard(context: ToolContext, nameOrId: string, chart: string): Promise<string> {
  const dashboard = await dashboardOf(context, nameOrId)
  const id = String(dashboard['name'])
  await updateDocument(context.documents, context.principal, 'Dashboard', id, {
    charts: [...itemsOf(dashboard), { chart }],
  })
  return id
}

/** Returns the rows of a dashboard, in the form in which an update takes them. */
export function itemsOf(dashboard: View): readonly { readonly name: unknown; readonly chart: string }[] {
  const rows = dashboard['charts']
  return (Array.isArray(rows) ? rows : []).map((row: View) => ({
    name: row['name'],
    chart: String(row['chart']),
  }))
}

/** Calculates a stored chart over the documents that the caller may read. AppError says why it cannot be done. */
export async function calculateStored(
  { principal, documents }: Reader,
  chart: string,
  now: number,
  timespan?: ChartDefinition['timespan'],
): Promise<{ definition: ChartDefinition; kept: unknown; points: readonly ChartPoint[] }> {
  const stored = await getDocument(documents, principal, 'Dashboard Chart', chart)
  const { document_type: doctype, vega_lite: kept, ...fields } = stored
  // A chart without a time is of all time.
  const other = timespan !== undefined && stored['time_series_based_on'] ? { timespan } : {}
  const definition = { ...fields, ...other, doctype } as unknown as ChartDefinition
  return { definition, kept, points: await chartPoints(documents, principal, definition, now) }
}

/** Calculates a stored chart in the same way, and draws it. */
export async function drawStored(
  {
    principal,
    documents,
    signal,
    look,
    timespan,
  }: Pick<ToolContext, 'principal' | 'documents' | 'signal'> & {
    readonly look?: Look
    readonly timespan?: ChartDefinition['timespan']
  },
  charts: Charts,
  chart: string,
  now: number,
): Promise<{
  readonly name: string
  readonly points: readonly ChartPoint[]
  readonly image: ChartImage
  readonly definition: ChartDefinition
}> {
  const { definition, kept, points } = await calculateStored({ principal, documents }, chart, now, timespan)
  const fields = documents.platform.doctypes.get(definition.doctype)?.fields
  const labelOf = (name: string): string => fields?.get(name)?.label ?? name
  const spec = typeof kept === 'object' && kept !== null ? (kept as View) : vegaLiteOf(definition, labelOf)
  return {
    name: definition.chart_name,
    points,
    definition,
    image: await charts.draw(spec, points, 'png', turnOf({ principal, signal }), look),
  }
}
