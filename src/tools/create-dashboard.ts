import { updateDocument } from '../documents/updating.ts'
import { getDocument, listDocuments } from '../documents/reading.ts'
import { createDocument } from '../documents/creating.ts'
import { AppError } from '../core/errors.ts'
import type { ToolContext } from './tool.ts'
import { objectShape, textShape, yesNoShape } from './output-shapes.ts'
import { defineTool } from './tool.ts'
import { objectWith } from '../core/object-schema.ts'

/**
 * Puts charts together and shares them. Refused for charts that the caller cannot see and for users or
 * roles that do not exist; of the charts, only the caller's own are shared along.
 */
export const createDashboard = defineTool({
  name: 'create_dashboard',
  title: 'Create a dashboard',
  description:
    'Puts charts that you made together as a dashboard, and shares it when asked. Whoever looks at it sees the numbers that they may read themselves. Use create_dashboard_chart first, list_user_dashboards to look at it.',
  category: 'write',
  input: objectWith(
    {
      dashboard_name: { type: 'string', minLength: 1, maxLength: 140 },
      chart_names: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: 50,
        description: 'Charts by id (CHART-00001) or by name.',
      },
    },
    {
      share_with: {
        type: 'array',
        items: { type: 'string' },
        maxItems: 50,
        description: 'E-mail addresses of users, or roles.',
      },
    },
  ),
  largeOutput: objectShape({ success: yesNoShape, dashboard_id: textShape }),
  example: { dashboard_name: 'Sales', chart_names: ['Orders by status'], share_with: ['Sales User'] },
  async run({ dashboard_name: title, chart_names: names, share_with: share = [] }, context) {
    const { principal, documents } = context
    const { users, roles } = audienceOf(context, share)
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
    // A dashboard is of use to others only with its charts; those of others stay as they are.
    const mine = charts.filter(({ owner }) => owner === principal.user)
    if (share.length > 0) for (const { name } of mine) await extendSharing(context, name, users, roles)
    const kept = charts.filter((chart) => !mine.includes(chart))
    return {
      success: true,
      dashboard_id: document['name'],
      dashboard_name: title,
      charts: charts.map(({ name, title }) => ({ chart_id: name, chart_name: title })),
      shared_with: [...users, ...roles],
      ...(share.length > 0 &&
        kept.length > 0 && { warnings: kept.map(({ name }) => `${name} is not yours and was not shared`) }),
    }
  },
})

/** Users and roles that exist; every one that does not is named. */
function audienceOf(
  { documents }: ToolContext,
  share: readonly string[],
): { users: string[]; roles: string[] } {
  const { people } = documents.platform
  const users: string[] = []
  const roles: string[] = []
  const faults: string[] = []
  for (const one of share) {
    const user = people.find(one)
    if (user) users.push(user.id)
    else if (people.roles.has(one)) roles.push(one)
    else faults.push(`there is no user or role "${one}"`)
  }
  if (faults.length > 0) throw new AppError('invalid', `share_with: ${faults.join('; ')}`)
  return { users, roles }
}

/** The charts by id or name, among those that the caller may see; all that are missing are named at once. */
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
    if (named.length === 0) faults.push(`"${wanted}"`)
    return named.slice(0, 1)
  })
  if (faults.length > 0)
    throw new AppError('not_found', `there are no charts ${faults.join(', ')} that you may see`)
  return found
}

/** Adds to whom a chart is shared with, and takes nobody away. */
async function extendSharing(
  { principal, documents }: ToolContext,
  chart: string,
  users: readonly string[],
  roles: readonly string[],
): Promise<void> {
  const stored = await getDocument(documents, principal, 'Dashboard Chart', chart)
  const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
  await updateDocument(documents, principal, 'Dashboard Chart', chart, {
    shared_users: [...new Set([...list(stored['shared_users']), ...users])],
    shared_roles: [...new Set([...list(stored['shared_roles']), ...roles])],
  })
}
