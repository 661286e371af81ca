import { getDocument, listDocuments } from '../../documents/asking/reading.ts'
import type { Charts } from '#sandbox/sandbox.ts'
import type { Clock } from '#leaf/clock.ts'
import { meantOrKnown } from '#leaf/names.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { chartStates } from '../../analysis/chart-data.ts'
import { drawStored, itemsOf } from './dashboards.ts'
import { pageAddress } from '../writing/document-id.ts'
import { objectShape, yesNoShape } from '../output-shapes.ts'
import { type Content, defineTool, type Tool, type ToolContext } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** The most pictures in one answer: they are large, and a model hardly looks at more. */
const mostPictures = 8

/** Lists the dashboards that the caller may see, with their pictures. */
export function listUserDashboards(charts: Charts, clock: Clock): Tool {
  return defineTool({
    name: 'list_user_dashboards',
    title: 'List dashboards',
    description: 'Dashboards of yours or shared with you; with dashboard, draws the charts of that one.',
    category: 'read_only',
    computes: true,
    view: 'dashboards',
    input: objectWith(
      {},
      {
        include_shared: {
          type: 'boolean',
          description: 'Default true.',
        },
        dashboard: { type: 'string', description: 'Its id or name.' },
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
        ...pageAddress(context.publicUrl, 'desk', view['name']),
        owner: view['owner'],
        modified: view['modified'],
        shared: view['owner'] !== principal.user,
      }))
      if (dashboard === undefined)
        return { success: true, dashboards: listed, count: listed.length, total_count: total }
      const chosen = listed.find((one) => one.dashboard_id === dashboard || one.dashboard_name === dashboard)
      if (!chosen)
        throw new AppError(
          'not_found',
          `there is no dashboard "${dashboard}" that you may see${meantOrKnown(
            dashboard,
            data.map((view) => String(view['dashboard_name'])),
          )}`,
        )
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
      const { name, points, image, definition } = await drawStored(context, charts, chart, clock.now())
      const counted = await chartStates(context.documents, context.principal, definition, clock.now())
      const drawn = { chart_id: chart, chart_name: name, data_points: points.length }
      const note = image.part === undefined ? {} : { note: `only ${image.part} are drawn` }
      shown.push({ ...drawn, ...(counted && { counted }), points: points.slice(0, 50), ...note })
      content.push({ type: 'image', data: image.data, mimeType: image.mimeType })
    } catch (error) {
      // One chart that the caller may not see, or that its owner broke, must not hide the others.
      if (!(error instanceof AppError) || context.signal.aborted) throw error
      shown.push({ chart_id: chart, error: messageOf(error) })
    }
  }
  return { shown, content }
}
