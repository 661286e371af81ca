/** What the pages of the desk show: dashboards that the user may see, drawn over what the user may read now. */
import { isAvailable, type Analysis } from '../analysis/analysis.ts'
import type { ChartImage } from '../analysis/charts/charts.ts'
import type { ChartPoint } from '../analysis/charts/chart-data.ts'
import type { Audit } from '../audit/audit.ts'
import type { Snapshot } from '../build/snapshot.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { type DocumentView, getDocument, listDocuments } from '../documents/reading.ts'
import type { Documents } from '../documents/documents.ts'
import type { Site } from '../site/kept-site.ts'
import { calculateStored, drawStored, itemsOf } from '../tools/dashboards.ts'
import { viewed } from './viewing.ts'

/** What draws for the desk. */
export interface DeskParts {
  readonly analysis: Analysis | undefined
  readonly audit: Audit
  readonly clock: Clock
  readonly site: Pick<Site<Snapshot>, 'current'>
}

const mostDashboards = 200
/** What drawing one picture of a page may take. */
const pageSeconds = 5

/** The dashboards that the principal may see. */
export async function dashboardsFor(documents: Documents, principal: Principal) {
  const { data } = await listDocuments(documents, principal, {
    doctype: 'Dashboard',
    fields: ['name', 'dashboard_name', 'owner'],
    orderBy: 'modified desc',
    limit: mostDashboards,
  })
  return data.map(rowOf)
}

/** One dashboard with the numbers of its charts. AppError `not_found`. */
export async function dashboardOfDesk(documents: Documents, principal: Principal, id: string, now: number) {
  const view = await getDocument(documents, principal, 'Dashboard', id)
  const charts = await Promise.all(
    itemsOf(view).map(({ chart }) => storedChart(documents, principal, chart, now)),
  )
  return { ...rowOf(view), charts: charts.filter((chart) => chart !== undefined) }
}

function rowOf(view: DocumentView) {
  return {
    id: String(view['name']),
    name: String(view['dashboard_name']),
    owner: String(view['owner']),
  }
}

/** The picture of a chart. AppError `not_found` for one that is not shared with the user, `unavailable`. */
export async function pictureFor(
  { analysis, audit, clock, site }: DeskParts,
  user: Principal,
  chart: string,
  { signal, ...look }: { readonly dark: boolean; readonly narrow: boolean; readonly signal: AbortSignal },
): Promise<ChartImage> {
  const charts = analysis?.charts
  if (!charts || !isAvailable(charts)) throw new AppError('unavailable', 'this server cannot draw charts')
  const view = { type: 'chart.view', target: `Dashboard Chart/${chart}`, signal }
  const { image } = await viewed(audit, user, view, (principal) => {
    const { documents } = site.current()
    const looker = { principal, documents, signal, look: { seconds: pageSeconds, ...look } }
    return drawStored(looker, charts, chart, clock.now())
  })
  return image
}

/** A chart in words; one that is not shared with the user is not there. */
async function storedChart(
  documents: Documents,
  principal: Principal,
  id: string,
  now: number,
): Promise<{ id: string; name: string; points: readonly ChartPoint[] } | undefined> {
  const named = (name: string, points: readonly ChartPoint[]) => ({ id, name, points })
  try {
    const { definition, points } = await calculateStored({ principal, documents }, id, now)
    return named(definition.chart_name, points)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'not_found') return undefined
    // What cannot be calculated is told in the place of the picture.
    const { chart_name } = await getDocument(documents, principal, 'Dashboard Chart', id)
    return named(String(chart_name), [])
  }
}
