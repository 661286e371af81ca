/** Reads the filter values that a caller gives a report, each by its filter's type. */
import { didYouMean } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { show } from '../../core/values.ts'
import { type Documents, findReadable } from '../documents.ts'
import type { Report } from '../platform/platform.ts'
import { edgeOf } from '../asking/filter-forms.ts'
import { readValue } from '../values.ts'

/** Returns the values in force, defaults included. AppError `invalid` with every problem at once. */
export async function readReportFilters(
  documents: Documents,
  principal: Principal,
  report: Report,
  given: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const problems: string[] = []
  const filters: Record<string, unknown> = {}
  const names = report.filters.map((filter) => filter.name)
  for (const name of Object.keys(given))
    if (!names.includes(name)) {
      problems.push(
        `unknown filter "${name}"${didYouMean(name, names)}; it takes ${names.join(', ') || 'none'}`,
      )
    }
  for (const filter of report.filters) {
    const value = given[filter.name] ?? filter.default
    if (value === undefined || value === null || value === '') {
      // Collected with the other problems: a model mends all of them in one go.
      if (filter.required) problems.push(`${filter.name} is required (${filter.type})`)
      continue
    }
    const days = { now: documents.clock.now(), edge: edgeOf(filter.operator) }
    const read = readValue(filter, value, days)
    if ('problem' in read) problems.push(`${filter.name}: ${read.problem}`)
    else if (
      filter.type === 'link' &&
      !(await findReadable(documents, principal, { doctype: filter.doctype!, name: String(read.value) }))
    )
      problems.push(
        `${filter.name}: there is no ${filter.doctype!} ${show(value)} that you may read (search_link finds names)`,
      )
    else filters[filter.name] = read.value
  }
  if (problems.length > 0)
    throw new AppError('invalid', `${report.name}: ${problems.join('; ')}`, { data: { problems } })
  return filters
}
