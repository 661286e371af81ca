import { isAvailable, type Analysis } from '../analysis/analysis.ts'
import type { ChartPoint } from '../analysis/charts/chart-data.ts'
import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { getDocument, listDocuments } from '../documents/reading.ts'
import type { Documents } from '../documents/documents.ts'
import type { Desk } from '../pages/desk-endpoint.ts'
import type { Snapshot } from './snapshot.ts'
import { calculateStored, drawStored, itemsOf } from '../tools/dashboards.ts'
import { viewed } from './viewing.ts'

const mostDashboards = 200
/** What drawing one picture of a page may take. */
const pageSeconds = 5

/** What the desk page shows: dashboards that the user may see, drawn over what the user may read now. */
export function createDesk(
  snapshot: () => Snapshot,
  {
    analysis,
    audit,
    clock,
  }: { readonly analysis: Analysis | undefined; readonly audit: Audit; readonly clock: Clock },
): Desk {
  return {
    dashboards: (user) =>
      viewed(audit, user, { type: 'desk.view' }, async (principal) => {
        const { data } = await listDocuments(snapshot().documents, principal, {
          doctype: 'Dashboard',
          fields: ['name', 'dashboard_name', 'owner'],
          orderBy: 'modified desc',
          limit: mostDashboards,
        })
        return data.map((view) => ({
          id: String(view['name']),
          name: String(view['dashboard_name']),
          owner: String(view['owner']),
        }))
      }),
    dashboard: (user, id) =>
      viewed(audit, user, { type: 'desk.view', target: `Dashboard/${id}` }, async (principal) => {
        const { documents } = snapshot()
        const view = await getDocument(documents, principal, 'Dashboard', id)
        const charts = await Promise.all(
          itemsOf(view).map(({ chart }) => storedChart(documents, principal, chart, clock.now())),
        )
        return {
          id,
          name: String(view['dashboard_name']),
          owner: String(view['owner']),
          charts: charts.filter((chart) => chart !== undefined),
        }
      }),
    picture: async (user, chart, look, signal) => {
      const charts = analysis?.charts
      if (!charts || !isAvailable(charts)) throw new AppError('unavailable', 'this server cannot draw charts')
      const view = { type: 'chart.view', target: `Dashboard Chart/${chart}`, signal }
      const { image } = await viewed(audit, user, view, (principal) => {
        const looker = {
          principal,
          documents: snapshot().documents,
          signal,
          look: { seconds: pageSeconds, ...look },
        }
        return drawStored(looker, charts, chart, clock.now())
      })
      return { mimeType: image.mimeType, bytes: Buffer.from(image.data, 'base64'), id: image.id }
    },
  }
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
