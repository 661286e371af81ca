import { getDocument, listDocuments } from '../documents/reading.ts'
import type { Charts } from '../analysis/charts/charts.ts'
import type { Clock } from '../core/clock.ts'
import { AppError, messageOf } from '../core/errors.ts'
import { drawStored, itemsOf } from './dashboards.ts'
import { objectShape, yesNoShape } from './output-shapes.ts'
import { type Content, defineTool, type Tool, type ToolContext } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/** Pictures are large, and a model hardly looks at more in one answer. */
const mostPictures = 8

/** The dashboards that the caller may see, and their pictures. */
export function listUserDashboards(charts: Charts, clock: Clock): Tool {
  return defineTool({
    name: 'list_user_dashboards',
    title: 'List dashboards',
    description:
      'Lists the dashboards that you made or that are shared with you. With dashboard, draws the charts of that one over the data that you may read today.',
    category: 'read_only',
    view: 'dashboards',
    input: objectWith(
      {},
      {
        include_shared: {
          type: 'boolean',
          description: 'Also those of others that are shared with you; default true.',
        },
        dashboard: { type: 'string', description: 'The id or name of one dashboard, to see its charts.' },
      },
    ),
    largeOutput: objectShape({ success: yesNoShape }),
    example: { include_shared: true },
    async run({ include_shared: shared = true, dashboard }, context) {
      const { principal, documents } = context
      const { data, total } = await listDocuments(documents, principal, {
        doctype: 'Dashboard',
        fields: ['name', 'dashboard_name', 'owner', 'modified'],
        ...(!shared && { filters: [['owner', '=', principal.user]] }),
        orderBy: 'modified desc',
        limit: 200,
      })
      const listed = data.map((view) => ({
        dashboard_id: view['name'],
        dashboard_name: view['dashboard_name'],
        owner: view['owner'],
        modified: view['modified'],
        shared: view['owner'] !== principal.user,
      }))
      if (dashboard === undefined)
        return { success: true, dashboards: listed, count: listed.length, total_count: total }
      const chosen = listed.find((one) => one.dashboard_id === dashboard || one.dashboard_name === dashboard)
      if (!chosen) throw new AppError('not_found', `there is no dashboard "${dashboard}" that you may see`)
      const items = itemsOf(await getDocument(documents, principal, 'Dashboard', String(chosen.dashboard_id)))
      const left = items.length - mostPictures
      const note = left > 0 && { note: `${left} more charts were not drawn` }
      const { shown, content } = await drawAll(items.slice(0, mostPictures), charts, clock, context)
      return { kind: 'rich', data: { success: true, dashboard: chosen, charts: shown, ...note }, content }
    },
  })
}

async function drawAll(
  items: readonly { readonly chart: string }[],
  charts: Charts,
  clock: Clock,
  context: ToolContext,
): Promise<{ readonly shown: readonly unknown[]; readonly content: readonly Content[] }> {
  const content: Content[] = []
  const shown: unknown[] = []
  for (const [index, { chart }] of items.entries()) {
    context.progress(index, items.length, `drawing ${chart}`)
    try {
      const { name, points, image } = await drawStored(context, charts, chart, clock.now())
      const drawn = { chart_id: chart, chart_name: name, data_points: points.length }
      shown.push({ ...drawn, points: points.slice(0, 50) })
      content.push({ type: 'image', data: image.data, mimeType: image.mimeType })
    } catch (error) {
      // One chart that the caller may not see, or that its owner broke, does not hide the others.
      if (!(error instanceof AppError) || context.signal.aborted) throw error
      shown.push({ chart_id: chart, error: messageOf(error) })
    }
  }
  return { shown, content }
}
