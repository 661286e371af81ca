/** Shared by the three dashboard tools: finding dashboards and charts, and drawing a stored chart for a viewer. */
import { updateDocument } from '../../documents/writing/updating.ts'
import { getDocument, listDocuments } from '../../documents/asking/reading.ts'
import { AppError } from '#leaf/errors.ts'
import { meantOrKnown } from '#leaf/names.ts'
import type { Charts, ChartImage, ChartPoint, Look } from '#sandbox/sandbox.ts'
import { chartPoints } from '../../analysis/chart-data.ts'
import { filtersOf } from '../../documents/asking/linked-filters.ts'
import type { Access } from '../../documents/permission.ts'
import { readableColumns } from '../../documents/reports/tables.ts'
import { type ChartDefinition, type CompleteChart, completeChart } from '../../analysis/chart-definition.ts'
import { vegaLiteOf } from '#figures/vega-lite.ts'
import { turnOf, type ToolContext } from '../tool.ts'

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
  // Whoever sees the dashboard is to see the new chart on it.
  const { users, roles } = sharingOf(dashboard)
  if (users.length + roles.length > 0) await extendSharing(context, chart, users, roles)
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

/** Fills in a chart that is to be made, and calculates it. AppError `invalid` with `data.problems`. */
export async function plannedChart(
  { principal, documents }: Reader,
  given: ChartDefinition,
  now: number,
): Promise<CompleteChart & { readonly access: Access; readonly points: readonly ChartPoint[] }> {
  const { access, columns } = readableColumns(documents, principal, given.doctype)
  await filtersOf(access, given.filters)
  const complete = completeChart(given, columns)
  return { ...complete, access, points: await chartPoints(documents, principal, complete.definition, now) }
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

/** Returns with whom a dashboard or a chart is shared. */
export function sharingOf(view: View): {
  readonly users: readonly string[]
  readonly roles: readonly string[]
} {
  const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
  return { users: list(view['shared_users']), roles: list(view['shared_roles']) }
}

/**
 * Returns the users and roles to share with; names every role that does not exist. One answer covers users who do not
 * exist and those who may see no dashboard, so that it tells of nobody whether they are a user.
 */
export function sharedWith(
  { documents }: Pick<Reader, 'documents'>,
  share: readonly string[],
): { users: string[]; roles: string[] } {
  const { people, doctypes } = documents.platform
  const readers = new Set(
    (doctypes.get('Dashboard')?.rules ?? [])
      .filter(({ actions }) => actions.has('read'))
      .map(({ role }) => role),
  )
  const users: string[] = []
  const roles: string[] = []
  const faults: string[] = []
  for (const one of share) {
    const user = people.find(one)
    const mayLook =
      user?.enabled && user.assistantEnabled && [...readers].some((role) => user.roles.has(role))
    if (user && mayLook) users.push(user.id)
    else if (people.roles.has(one)) roles.push(one)
    else
      faults.push(
        `there is no role "${one}", and no user of that address who may see dashboards${meantOrKnown(one, [...people.roles.keys()])}`,
      )
  }
  if (faults.length > 0) {
    const problems = faults.map((fault) => `share_with: ${fault}`)
    throw new AppError('invalid', `share_with: ${faults.join('; ')}`, { data: { problems } })
  }
  return { users, roles }
}

/** Adds users and roles to those that a chart is shared with, and removes none. */
export async function extendSharing(
  { principal, documents }: Reader,
  chart: string,
  users: readonly string[],
  roles: readonly string[],
): Promise<void> {
  const stored = await getDocument(documents, principal, 'Dashboard Chart', chart)
  await updateDocument(documents, principal, 'Dashboard Chart', chart, {
    shared_users: [...new Set([...sharingOf(stored).users, ...users])],
    shared_roles: [...new Set([...sharingOf(stored).roles, ...roles])],
  })
}
