import { isAvailable, type Analysis } from '../analysis/analysis.ts'
import type { Audit } from '../audit/audit.ts'
import { actorOf } from '../audit/event.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { getDocument, listDocuments } from '../documents/reading.ts'
import type { Documents } from '../documents/documents.ts'
import type { Desk } from '../pages/desk-endpoint.ts'
import type { Snapshot } from './snapshot.ts'
import { drawStored, itemsOf } from '../tools/dashboards.ts'

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
    dashboards: async (principal) => {
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
    },
    dashboard: async (principal, id) => {
      const { documents } = snapshot()
      const view = await getDocument(documents, principal, 'Dashboard', id)
      const charts = await Promise.all(
        itemsOf(view).map(({ chart }) => storedChart(documents, principal, chart)),
      )
      return {
        id,
        name: String(view['dashboard_name']),
        owner: String(view['owner']),
        charts: charts.filter((chart) => chart !== undefined),
      }
    },
    picture: async (principal, chart, signal) => {
      const charts = analysis?.charts
      if (!charts || !isAvailable(charts)) throw new AppError('unavailable', 'this server cannot draw charts')
      const looker = { principal, documents: snapshot().documents, signal, seconds: pageSeconds }
      const event = { ...actorOf(principal), type: 'chart.view', target: `Dashboard Chart/${chart}` }
      // What cannot be audited must not be shown.
      audit.requireWritable(true)
      try {
        const { image } = await drawStored(looker, charts, chart, clock.now())
        await audit.record({ ...event, status: 'ok' })
        return { mimeType: image.mimeType, bytes: Buffer.from(image.data, 'base64'), id: image.id }
      } catch (error) {
        if (error instanceof AppError)
          await audit.record({ ...event, status: 'denied', error: error.message })
        throw error
      }
    },
  }
}

/** A chart that is not shared with the user is not there. */
async function storedChart(
  documents: Documents,
  principal: Principal,
  id: string,
): Promise<{ id: string; name: string } | undefined> {
  const { data } = await listDocuments(documents, principal, {
    doctype: 'Dashboard Chart',
    filters: { name: id },
    fields: ['chart_name'],
    limit: 1,
  })
  return data[0] && { id, name: String(data[0]['chart_name']) }
}
