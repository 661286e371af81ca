/** The pages of dashboards: all that one may see, and one of them, for its owner with what changes it. */
import type { Decimal } from '#leaf/decimal.ts'
import { randomId } from '#leaf/secrets.ts'
import { timespans } from '../../analysis/chart-definition.ts'
import { assistantUser } from '../../core/principal.ts'
import { possibleDeeds } from '../../documents/forms.ts'
import { asked, pathPart } from '#ui/requests.ts'
import { dashboardDeeds, makingDeed } from './dashboard-deeds.ts'
import { chartsFor, dashboardOfDesk, dashboardsFor, type DeskDeps } from './desk-endpoint.ts'
import type { Messages } from '#ui/pages.ts'
import { formAt, type OwnPage, type Visit } from '../own-page.ts'
import { numberText, type TypedField } from '#ui/forms.ts'
import { principalAt } from '../session-middleware.ts'
import { usableTool } from '../documents/use-tool.ts'
import { documentsFor, viewed } from '../documents/viewing.ts'
import { readerOf } from '../views.ts'

/** Makes the page of the dashboards that the user may see, where they put charts together as a new one. */
export function deskPage(deps: DeskDeps): OwnPage {
  return {
    show: async (visit) => {
      const user = principalAt(visit, deps)
      const mayMake = usableTool(deps, user, 'create_dashboard') !== undefined
      const shown = await viewed(deps.audit, user, { type: 'desk.view' }, async (principal) => {
        const documents = documentsFor(principal, deps)
        const dashboards = await dashboardsFor(documents, principal)
        return { dashboards, charts: mayMake ? await chartsFor(documents, principal) : [] }
      })
      const waiting = (await deps.suspended.waitingFor(user.user)).length
      const making = formAt(visit, 'make', makingFields(shown.charts, visit))
      const mayDraw = usableTool(deps, user, 'create_dashboard_chart') !== undefined
      return { ...shown, mayDraw, user: user.user, waiting, key: randomId(), making }
    },
    deeds: { make: makingDeed(deps) },
  }
}

/** Returns the fields of the form that puts charts together. */
function makingFields(charts: Awaited<ReturnType<typeof chartsFor>>, { ctx }: Visit): TypedField[] {
  const { text } = readerOf(ctx).messages
  return [
    { name: 'name', label: text('documents.name'), kind: 'line', required: true, longest: 140 },
    {
      name: 'chart',
      label: text('desk.charts'),
      kind: 'several',
      options: charts.map(({ id }) => id),
      words: wordsOf(charts),
    },
    { name: 'share', label: text('desk.share'), kind: 'line', description: text('desk.share_about') },
  ]
}

/** Returns the fields that say who sees a dashboard; the role that all have who use the assistant stands for everybody. */
function sharingFields(text: Messages['text'], roles: readonly string[]): TypedField[] {
  return [
    {
      name: 'shared_roles',
      label: text('desk.roles'),
      kind: 'several',
      options: roles,
      words: new Map([[assistantUser, `${assistantUser} (${text('desk.everybody')})`]]),
    },
    { name: 'share_with', label: text('desk.people'), kind: 'line', description: text('desk.people_about') },
  ]
}

/** Returns what charts are called where one chooses some of them. */
function wordsOf(charts: Awaited<ReturnType<typeof chartsFor>>): ReadonlyMap<string, string> {
  return new Map(charts.map(({ id, name, of }) => [id, `${name} (${of})`]))
}

/** Makes the page of one dashboard, for its owner with what changes it. */
export function dashboardPage(deps: DeskDeps): OwnPage {
  return {
    show: async (visit) => {
      const id = pathPart(visit.ctx, 'id')
      const user = principalAt(visit, deps)
      const reader = readerOf(visit.ctx)
      const period = timespans.find((one) => one === asked(visit.ctx, 'period'))
      const view = { type: 'desk.view', target: `Dashboard/${id}` }
      const shown = await viewed(deps.audit, user, view, async (principal) => {
        const documents = documentsFor(principal, deps)
        const dashboard = await dashboardOfDesk(documents, principal, id, { now: deps.clock.now(), period })
        const { verbs } = await possibleDeeds(documents, principal, 'Dashboard', id)
        const has = (verb: 'change' | 'delete', tool: string): boolean =>
          verbs.has(verb) && usableTool(deps, principal, tool) !== undefined
        const change = has('change', 'update_document')
        const chart = change && usableTool(deps, principal, 'create_dashboard_chart') !== undefined
        const may = { change, chart, delete: has('delete', 'delete_document') }
        return { dashboard, may, others: may.change ? await chartsFor(documents, principal) : [] }
      })
      const { text } = reader.messages
      const spans = timespans.map((one) => [one, text(`desk.span_${one.replaceAll(' ', '_')}`)] as const)
      const amount = (value: number | Decimal): string => numberText(value, reader)
      const others = { options: shown.others.map(({ id }) => id), words: wordsOf(shown.others) }
      const roles = [...deps.site.current().documents.platform.people.roles.keys()]
      const { sharing } = shown.dashboard
      const values = { shared_roles: [...sharing.roles], share_with: sharing.users.join(', ') }
      const sharingForm = formAt(visit, 'share', sharingFields(text, roles), values)
      const periods = { options: timespans, words: new Map(spans) }
      return {
        ...shown,
        amount,
        key: randomId(),
        period: period ?? '',
        periods,
        others,
        sharing: sharingForm,
      }
    },
    deeds: dashboardDeeds(deps),
  }
}
