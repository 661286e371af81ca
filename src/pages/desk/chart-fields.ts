/** The description of a chart that is to be made: what the tool takes, in the words of who makes it. */
import { aggregateNames, chartTypes, timeIntervals } from '#figures/vega-lite.ts'
import { timespans } from '../../analysis/chart-definition.ts'
import type { Principal } from '../../core/principal.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Access } from '../../documents/permission.ts'
import type { TableColumn } from '../../documents/reports/run-sql.ts'
import { readableColumns } from '../../documents/reports/tables.ts'
import { isSummable } from '../../documents/values.ts'
import { type DeskDeps, dashboardsFor } from './desk-endpoint.ts'
import type { Messages } from '#ui/pages.ts'
import { type Reader, type TypedField, choiceOf } from '#ui/forms.ts'
import { type Askable, askableOf } from '../documents/record-question.ts'
import { usableTool } from '../documents/use-tool.ts'

/** What a chart can be made of. */
interface Described {
  readonly fields: readonly TypedField[]
  readonly filters: Askable
}

/** Returns the fields that describe a chart of one doctype. AppError `not_found` for one that the principal may not read. */
export async function describedFor(
  deps: DeskDeps,
  documents: Documents,
  principal: Principal,
  { of, reader }: { readonly of: string; readonly reader: Reader },
): Promise<Described> {
  const said = reader.messages
  const { access, columns } = readableColumns(documents, principal, of)
  const named = namedColumns(access, columns, said)
  const worded = (group: string, options: readonly string[]) =>
    choiceOf(options.map((one) => [one, said.text(group + one.replaceAll(' ', '_'))]))
  const fields: TypedField[] = [
    { name: 'chart_name', label: said.text('documents.name'), kind: 'line', required: true, longest: 140 },
    {
      name: 'chart_type',
      label: said.text('charts.kind'),
      ...worded('charts.kind_', chartTypes),
      blank: '',
    },
    {
      name: 'aggregate_function',
      label: said.text('charts.measure'),
      ...worded(
        'charts.measure_',
        aggregateNames.filter((name) => name !== 'Group By'),
      ),
      blank: '',
    },
    {
      name: 'value_based_on',
      label: said.text('charts.value'),
      description: said.text('charts.value_about'),
      ...named((type) => isSummable(type as Parameters<typeof isSummable>[0])),
    },
    {
      name: 'based_on',
      label: said.text('charts.group'),
      description: said.text('charts.group_about'),
      ...named((type) => ['text', 'select', 'link', 'check'].includes(type)),
    },
    {
      name: 'time_series_based_on',
      label: said.text('charts.time'),
      description: said.text('charts.time_about'),
      ...named((type) => type === 'date' || type === 'datetime'),
    },
    {
      name: 'timespan',
      label: said.text('desk.period'),
      ...worded('desk.span_', timespans),
    },
    {
      name: 'time_interval',
      label: said.text('charts.interval'),
      ...worded('charts.interval_', timeIntervals),
    },
    ...(await placeFields(deps, documents, principal, said)),
  ]
  return { fields, filters: askableOf(documents, principal, of, reader) }
}

/** Returns the fields that say on which dashboard of one's own a chart is to hang. */
async function placeFields(
  deps: DeskDeps,
  documents: Documents,
  principal: Principal,
  said: Messages,
): Promise<TypedField[]> {
  const own = (await dashboardsFor(documents, principal)).filter(({ owner }) => owner === principal.user)
  const mayMake = usableTool(deps, principal, 'create_dashboard') !== undefined
  return [
    {
      name: 'dashboard',
      label: said.text('charts.dashboard'),
      ...choiceOf(own.map(({ id, name }) => [id, name])),
      blank: mayMake ? said.text('desk.make') : '',
    },
    ...(mayMake
      ? [
          {
            name: 'dashboard_name',
            label: said.text('charts.dashboard_name'),
            kind: 'line',
            longest: 140,
          } as const,
        ]
      : []),
  ]
}

/** Returns what makes a select of the columns of some types, by their labels. */
function namedColumns(access: Access, columns: readonly TableColumn[], said: Messages) {
  const labels = new Map(
    columns.map(({ name }) => [
      name,
      access.doctype.fields.get(name)?.label ??
        (name === 'name' ? name : said.text(`documents.field_${name}`)),
    ]),
  )
  return (types: (type: string) => boolean) => ({
    kind: 'select' as const,
    options: columns.filter(({ name, type }) => name !== 'name' && types(type)).map(({ name }) => name),
    words: labels,
  })
}
