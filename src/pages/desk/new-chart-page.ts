/** The page on which a chart is made: described in the one form, looked at as often as one likes, and kept by the tools. */
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import type { ChartDefinition } from '../../analysis/chart-definition.ts'
import type { Principal } from '../../core/principal.ts'
import { listDoctypes } from '../../documents/describing.ts'
import { plannedChart } from '../../tools/analysing/dashboards.ts'
import { asked, type Params } from '#ui/requests.ts'
import { describedFor } from './chart-fields.ts'
import { chartInWords, type DeskDeps } from './desk-endpoint.ts'
import { choicesFor } from '../documents/document-inputs.ts'
import { type Deed, type OwnPage, problemsOf, type Visit } from '../own-page.ts'
import { pages } from '../pages.ts'
import { numberText, type TypedField, givenIn, shownForm, withoutBlanks, choiceOf } from '#ui/forms.ts'
import type { Askable } from '../documents/record-question.ts'
import { filtersIn, problemAtEnd } from '#ui/lists.ts'
import { principalAt } from '../session-middleware.ts'
import { usableTool, useTool } from '../documents/use-tool.ts'
import { documentsFor, viewed } from '../documents/viewing.ts'
import { readerOf } from '../views.ts'

const tool = 'create_dashboard_chart'
/** What the names of filters begin with: a doctype may have a field that is called as a part of a chart. */
const by = 'by.'

/** Makes the page, which asks first what is to be counted. */
export function newChartPage(deps: DeskDeps): OwnPage {
  return {
    script: true,
    show: (visit) => {
      const user = principalAt(visit, deps)
      const mayMake = usableTool(deps, user, tool) !== undefined
      const of = mayMake ? asked(visit.ctx, 'of') : ''
      return viewed(deps.audit, user, { type: 'desk.view', ...(of !== '' && { target: of }) }, (principal) =>
        of === '' ? kindsFor(deps, principal, visit, mayMake) : formFor(deps, principal, visit, of),
      )
    },
    deeds: { preview: previewing(deps), make: making(deps) },
  }
}

function requireTool(deps: DeskDeps, user: Principal): void {
  if (!usableTool(deps, user, tool)) throw new AppError('not_found', 'nothing is at this address')
}

/** Asks of which documents the chart is to be. */
function kindsFor(deps: DeskDeps, principal: Principal, { ctx }: Visit, mayMake: boolean) {
  const { documents } = deps.site.current()
  const reader = readerOf(ctx)
  const readable = listDoctypes(documents, principal).filter(({ allowed }) => allowed.includes('read'))
  const called = (name: string): string =>
    documents.platform.doctypes.get(name)?.translations.get(reader.language)?.get(name) ?? name
  const field: TypedField = {
    name: 'of',
    label: reader.messages.text('charts.of'),
    ...choiceOf(readable.map(({ doctype }) => [doctype, called(doctype)])),
    blank: '',
  }
  const values = { of: '' }
  return Promise.resolve({
    of: '',
    mayMake,
    dashboard: asked(ctx, 'dashboard'),
    ...shownForm([field], { values, reader, prefix: '' }),
  })
}

async function formFor(deps: DeskDeps, principal: Principal, visit: Visit, of: string) {
  const documents = documentsFor(principal, deps)
  const reader = readerOf(visit.ctx)
  const { fields, filters } = await describedFor(deps, documents, principal, { of, reader })
  const { form } = visit
  const problems = problemsOf(visit).map((problem) => {
    const told = problem.replace(/^filters: /, '')
    if (told === problem && fields.some(({ name }) => problem.startsWith(`${name}: `))) return problem
    return form && /^\w+: /.test(told) ? by + problemAtEnd(told, filters, unprefixed(form)) : problem
  })
  const values = { chart_type: 'bar', aggregate_function: 'Count', dashboard: asked(visit.ctx, 'dashboard') }
  const shown = shownForm([...fields, ...filterFields(filters)], {
    form,
    values,
    problems,
    reader,
    prefix: '',
  })
  const isFilter = ({ name }: TypedField): boolean => name.startsWith(by)
  return {
    of,
    mayMake: true,
    dashboard: '',
    key: randomId(),
    problems: shown.problems,
    isAtFields: shown.isAtFields,
    inputs: shown.inputs.filter((input) => !isFilter(input)),
    filters: shown.inputs.filter(isFilter),
    filtered: shown.inputs.some((input) => isFilter(input) && (input.text !== '' || input.problem !== '')),
    choices: await choicesFor(documents, principal, filters.inputs),
    amount: (value: Parameters<typeof numberText>[0]) => numberText(value, reader),
  }
}

/** Reads filters by their own names. */
function unprefixed(form: Params): Params {
  return { ...form, get: (name) => form.get(name.replace(/^f\./, by)) }
}

function filterFields({ inputs }: Askable): TypedField[] {
  return inputs.map((input) => ({ ...input, name: by + input.name }))
}

/** Reads what a form says of a chart, as the tool takes it, and where it is to hang. AppError `invalid` with `data.problems`. */
async function chartIn(deps: DeskDeps, principal: Principal, { ctx }: Visit, form: Params) {
  requireTool(deps, principal)
  const [of, reader] = [asked(ctx, 'of'), readerOf(ctx)]
  const { fields, filters } = await describedFor(deps, documentsFor(principal, deps), principal, {
    of,
    reader,
  })
  const given = withoutBlanks(givenIn(form, [...fields, ...filterFields(filters)], { reader, prefix: '' }))
  const problems = fields.flatMap(({ name, kind, options = [] }) =>
    kind === 'select' && typeof given[name] === 'string' && !options.includes(given[name])
      ? [`${name}: must be one of ${options.join(', ')}, not ${JSON.stringify(given[name])}`]
      : [],
  )
  if (problems.length > 0) throw new AppError('invalid', problems.join('; '), { data: { problems } })
  const byName = Object.fromEntries(filters.inputs.map(({ name }) => [name, given[by + name]]))
  const narrowed = filtersIn(byName, filters)
  const {
    dashboard = '',
    dashboard_name: title,
    ...parts
  } = Object.fromEntries(
    fields.flatMap(({ name }) => (given[name] === undefined ? [] : [[name, given[name]]])),
  )
  const chart = { ...parts, doctype: of, ...(narrowed.length > 0 && { filters: narrowed }) }
  return { chart, dashboard: typeof dashboard === 'string' ? dashboard : '', title }
}

/** Makes the form that shows what a chart would be; nothing is kept. */
function previewing(deps: DeskDeps): Deed {
  return {
    run: async (visit, form) => {
      const user = principalAt(visit, deps)
      const { chart } = await chartIn(deps, user, visit, form)
      const now = deps.clock.now()
      const view = { type: 'chart.view', target: chart.doctype, data: { question: chart } }
      const preview = await viewed(deps.audit, user, view, async (principal) => {
        const given = { chart_name: '', ...chart } as unknown as ChartDefinition
        const { access, definition, points } = await plannedChart(
          { principal, documents: documentsFor(principal, deps) },
          given,
          now,
        )
        return chartInWords(access, definition, { points, now })
      })
      return { once: { preview } }
    },
  }
}

function making(deps: DeskDeps): Deed {
  return {
    run: async (visit, form) => {
      const user = principalAt(visit, deps)
      const { chart, dashboard, title } = await chartIn(deps, user, visit, form)
      const key = form.get('key') ?? ''
      const place = dashboard === '' ? {} : { dashboard_name: dashboard }
      const made = await useTool(deps, user, tool, { ...chart, ...place }, { key, confirmed: true })
      if (dashboard !== '') return { to: addressOf(dashboard) }
      const args = { dashboard_name: title ?? made['chart_name'], chart_names: [made['chart_id']] }
      const fresh = await useTool(deps, user, 'create_dashboard', args, {
        key: `${key} dashboard`,
        confirmed: true,
      })
      return { to: addressOf(String(fresh['dashboard_id'])) }
    },
  }
}

function addressOf(dashboard: string): string {
  return `${pages.desk.path}/${encodeURIComponent(dashboard)}`
}
