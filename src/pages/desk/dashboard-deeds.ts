/** What people change in dashboards: by the tools that make, change and delete them. */
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { getDocument, listDocuments } from '../../documents/asking/reading.ts'
import type { Documents } from '../../documents/documents.ts'
import { sharedWith, itemsOf, sharingOf } from '../../tools/analysing/dashboards.ts'
import { pathPart, type Params } from '#ui/requests.ts'
import { mostChosen, type UserPageDeps } from './desk-endpoint.ts'
import { changesOf } from '../documents/document-page.ts'
import type { Deed, Visit } from '../own-page.ts'
import { refusedAt } from '#ui/forms.ts'
import { pages } from '../pages.ts'
import { principalAt } from '../session-middleware.ts'
import { usableTool, useTool } from '../documents/use-tool.ts'
import { documentsFor } from '../documents/viewing.ts'

const doctype = 'Dashboard'

/** Returns the charts that a form has ticked. */
function chosenIn(form: Params | undefined): readonly string[] {
  return [...Array(mostChosen).keys()].flatMap((index) => form?.get(`chart.${index}`) ?? [])
}

/** Makes the form that puts charts together as a new dashboard. */
export function makingDeed(deps: UserPageDeps): Deed {
  return {
    run: async (visit, form) => {
      const chosen = chosenIn(form)
      if (chosen.length === 0) throw refusedAt('chart', 'invalid', 'choose at least one chart')
      const share = (form.get('share') ?? '').split(/[,;\n]/).map((one) => one.trim())
      const args = {
        dashboard_name: (form.get('name') ?? '').trim(),
        chart_names: chosen,
        share_with: share.filter(Boolean),
      }
      const made = await useTool(deps, principalAt(visit, deps), 'create_dashboard', args, {
        key: form.get('key'),
        confirmed: true,
      })
      return { to: `${pages.desk.path}/${encodeURIComponent(String(made['dashboard_id']))}` }
    },
  }
}

/** Makes the forms of a dashboard: its name, its charts and their order, and its end. */
export function dashboardDeeds(deps: UserPageDeps): Record<string, Deed> {
  const change = (verb: string, data: (form: Params, charts: string[]) => object): Deed => ({
    run: (visit, form) => changed(deps, visit, { verb, form, data }),
  })
  return {
    rename: change('rename', (form) => ({ dashboard_name: (form.get('name') ?? '').trim() })),
    add: {
      run: async (visit, form) => {
        const done = await change('add', (_, charts) => rowsOf([...charts, form.get('chart') ?? ''])).run(
          visit,
          form,
        )
        if (done === undefined) await shareCharts(deps, visit, form, noAudience)
        return done
      },
    },
    share: { run: (visit, form) => share(deps, visit, form) },
    take: change('take', (form, charts) => rowsOf(charts.filter((_, index) => index !== placeIn(form)))),
    earlier: change('earlier', (form, charts) => rowsOf(moved(charts, placeIn(form)))),
    delete: {
      run: async (visit, form) => {
        const principal = principalAt(visit, deps)
        const args = { doctype, name: pathPart(visit.ctx, 'id') }
        if (form.get('confirmed') === undefined) {
          await useTool(deps, principal, 'delete_document', { ...args, dry_run: true })
          return { once: { confirm: { verb: 'delete', changes: [], fields: [] } } }
        }
        await useTool(deps, principal, 'delete_document', args, { key: form.get('key'), confirmed: true })
        return { to: pages.desk.path }
      },
    },
  }
}

const noAudience = { users: [], roles: [] } as const
/** The most roles that a form lists. */
const mostRoles = 200

/** Shares a dashboard with those whom the form names and nobody else, and its charts with it. AppError `invalid` at its field. */
async function share(deps: UserPageDeps, visit: Visit, form: Params): ReturnType<Deed['run']> {
  const principal = principalAt(visit, deps)
  const documents = documentsFor(principal, deps)
  const roles = [...Array(mostRoles).keys()].flatMap((index) => form.get(`shared_roles.${index}`) ?? [])
  const told = (form.get('share_with') ?? '').split(/[,;\n]/).map((one) => one.trim())
  const audience = sharedWith({ documents }, [...roles, ...told.filter(Boolean)])
  const data = { shared_users: [...new Set(audience.users)], shared_roles: [...new Set(audience.roles)] }
  const name = pathPart(visit.ctx, 'id')
  const before = sharingOf(await getDocument(documents, principal, doctype, name))
  const done = await changed(deps, visit, { verb: 'share', form, data: () => data })
  if (done === undefined)
    await shareCharts(deps, visit, form, {
      users: before.users.filter((one) => !audience.users.includes(one)),
      roles: before.roles.filter((one) => !audience.roles.includes(one)),
    })
  return done
}

type Audience = ReturnType<typeof sharingOf>

/** Shares one's own charts of a dashboard as it is shared; who lost it keeps those charts that they have on others of one's dashboards. */
async function shareCharts(deps: UserPageDeps, visit: Visit, form: Params, lost: Audience): Promise<void> {
  const principal = principalAt(visit, deps)
  const documents = documentsFor(principal, deps)
  const name = pathPart(visit.ctx, 'id')
  const dashboard = await getDocument(documents, principal, doctype, name)
  const now = sharingOf(dashboard)
  const others = lost.users.length + lost.roles.length > 0 ? await ownOthers(documents, principal, name) : []
  for (const { chart } of itemsOf(dashboard)) {
    const stored = await getDocument(documents, principal, 'Dashboard Chart', chart).catch(
      (error: unknown) => {
        if (error instanceof AppError && error.code === 'not_found') return undefined
        throw error
      },
    )
    // Charts of others stay as they are.
    if (stored?.['owner'] !== principal.user) continue
    const had = sharingOf(stored)
    const elsewhere = others
      .filter((view) => itemsOf(view).some((item) => item.chart === chart))
      .map(sharingOf)
    const next = (of: keyof Audience): string[] => {
      const kept = had[of].filter(
        (one) => !lost[of].includes(one) || elsewhere.some((it) => it[of].includes(one)),
      )
      return [...new Set([...kept, ...now[of]])]
    }
    const data = { shared_users: next('users'), shared_roles: next('roles') }
    if (String(data.shared_users) === String(had.users) && String(data.shared_roles) === String(had.roles))
      continue
    const args = { doctype: 'Dashboard Chart', name: chart, data }
    await useTool(deps, principal, 'update_document', args, {
      key: `${form.get('key') ?? ''} ${chart}`,
      confirmed: true,
    })
  }
}

async function ownOthers(documents: Documents, principal: Principal, name: string) {
  const { data } = await listDocuments(documents, principal, {
    doctype,
    filters: [
      ['owner', '=', principal.user],
      ['name', '!=', name],
    ],
    fields: ['name'],
    limit: 1000,
  })
  const views = []
  for (const one of data) views.push(await getDocument(documents, principal, doctype, String(one['name'])))
  return views
}

async function changed(
  deps: UserPageDeps,
  visit: Visit,
  {
    verb,
    form,
    data,
  }: {
    readonly verb: string
    readonly form: Params
    readonly data: (form: Params, charts: string[]) => object
  },
) {
  const tool = 'update_document'
  const principal = principalAt(visit, deps)
  const name = pathPart(visit.ctx, 'id')
  const stored = await getDocument(documentsFor(principal, deps), principal, doctype, name)
  const charts = itemsOf(stored).map(({ chart }) => chart)
  // What was changed by somebody else meanwhile is not overwritten: places would mean other charts.
  const args = { doctype, name, data: data(form, charts), expected_modified: form.get('modified') ?? '' }
  const confirmed = form.get('confirmed') !== undefined
  if (usableTool(deps, principal, tool)?.confirm !== 'never' && !confirmed) {
    const tried = await useTool(deps, principal, tool, { ...args, dry_run: true })
    const changes = await changesOf(deps, visit, { doctype, name }, { tried, more: {} })
    const shared = [...Array(mostRoles).keys()].map((index) => `shared_roles.${index}`)
    const fields = ['name', 'chart', 'at', 'share_with', ...shared].flatMap((key) => {
      const value = form.get(key)
      return value === undefined ? [] : [[key, value]]
    })
    return { once: { confirm: { verb, changes, fields } } }
  }
  await useTool(deps, principal, tool, args, { key: form.get('key'), confirmed })
  return undefined
}

/** Rows that lack a name replace the table. */
function rowsOf(charts: readonly string[]): object {
  return { charts: charts.map((chart) => ({ chart })) }
}

function placeIn(form: Params): number {
  return Number(form.get('at') ?? -1)
}

/** Returns the charts with one of them a place earlier. */
function moved(charts: readonly string[], at: number): string[] {
  const one = charts[at]
  if (one === undefined || at === 0) return [...charts]
  return [...charts.slice(0, at - 1), one, charts[at - 1]!, ...charts.slice(at + 1)]
}
