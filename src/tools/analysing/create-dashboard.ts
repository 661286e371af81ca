import { listDocuments } from '../../documents/asking/reading.ts'
import { createDocument } from '../../documents/writing/creating.ts'
import { AppError } from '#leaf/errors.ts'
import { meantOrKnown } from '#leaf/names.ts'
import { sharedWith, extendSharing } from './dashboards.ts'
import { pageAddress } from '../writing/document-id.ts'
import type { ToolContext } from '../tool.ts'
import { objectShape, textShape, yesNoShape } from '../output-shapes.ts'
import { defineTool } from '../tool.ts'
import { objectWith } from '#leaf/object-schema.ts'

/**
 * Groups charts in a dashboard and shares them. Refused for charts that the caller cannot see and for users or
 * roles that do not exist; of the charts, only the caller's own are shared along.
 */
export const createDashboard = defineTool({
  name: 'create_dashboard',
  title: 'Create a dashboard',
  description: 'Puts kept charts together as a dashboard, and shares it: each sees only what they may read.',
  category: 'write',
  input: objectWith(
    {
      dashboard_name: { type: 'string', minLength: 1, maxLength: 140 },
      chart_names: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: 50,
        description: 'By id or name.',
      },
    },
    {
      share_with: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 50,
        description: 'Users or roles.',
      },
    },
  ),
  largeOutput: objectShape({ success: yesNoShape, dashboard_id: textShape }),
  example: { dashboard_name: 'Sales', chart_names: ['Orders by status'], share_with: ['Sales User'] },
  async run({ dashboard_name: title, chart_names: names, share_with: share = [] }, context) {
    const { principal, documents } = context
    const { users, roles } = sharedWith(context, share)
    const charts = await chartsOf(context, names)
    const sharing = {
      ...(users.length > 0 && { shared_users: users }),
      ...(roles.length > 0 && { shared_roles: roles }),
    }
    const { document } = await createDocument(documents, principal, 'Dashboard', {
      dashboard_name: title,
      charts: charts.map(({ name }) => ({ chart: name })),
      ...sharing,
    })
    // A dashboard is of use to others only with its charts; charts of other owners stay as they are.
    const mine = charts.filter(({ owner }) => owner === principal.user)
    if (share.length > 0) for (const { name } of mine) await extendSharing(context, name, users, roles)
    const kept = charts.filter((chart) => !mine.includes(chart))
    return {
      success: true,
      dashboard_id: document['name'],
      dashboard_name: title,
      ...pageAddress(context.publicUrl, 'desk', document['name']),
      charts: charts.map(({ name, title }) => ({ chart_id: name, chart_name: title })),
      shared_with: [...users, ...roles],
      ...(share.length > 0 &&
        kept.length > 0 && { warnings: kept.map(({ name }) => `${name} is not yours and was not shared`) }),
    }
  },
})

/** Returns the charts by id or name, among those that the caller may see; names all that are missing at once. */
async function chartsOf(
  { principal, documents }: ToolContext,
  names: readonly string[],
): Promise<{ name: string; title: string; owner: string }[]> {
  const { data } = await listDocuments(documents, principal, {
    doctype: 'Dashboard Chart',
    fields: ['name', 'chart_name', 'owner'],
    limit: 1000,
  })
  const all = data.map((view) => ({
    name: String(view['name']),
    title: String(view['chart_name']),
    owner: String(view['owner']),
  }))
  const faults: string[] = []
  const found = names.flatMap((wanted) => {
    const named = all.filter(({ name, title }) => name === wanted || title === wanted)
    // Newest first: the one just made is meant.
    if (named.length === 0)
      faults.push(
        `"${wanted}"${meantOrKnown(
          wanted,
          all.map(({ title }) => title),
        )}`,
      )
    return named.slice(0, 1)
  })
  if (faults.length > 0)
    throw new AppError(
      'not_found',
      `there are no charts that you may see: ${faults.join(', ')} (create_dashboard_chart makes one)`,
    )
  return found
}
