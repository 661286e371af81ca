/** What people change in dashboards: by the tools that make, change and delete them. */
import { getDocument } from '../documents/asking/reading.ts'
import { itemsOf } from '../tools/dashboards.ts'
import { pathPart, type Params } from '../web/params.ts'
import { mostChosen, type UserPageDeps } from './desk-endpoint.ts'
import { changesOf } from './document-page.ts'
import { type Deed, refusedAt, type Visit } from './own-page.ts'
import { pages } from './pages.ts'
import { principalAt } from './session-middleware.ts'
import { usableTool, useTool } from './use-tool.ts'
import { documentsFor } from './viewing.ts'

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
    add: change('add', (form, charts) => rowsOf([...charts, form.get('chart') ?? ''])),
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
    const fields = ['name', 'chart', 'at'].flatMap((key) => {
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
