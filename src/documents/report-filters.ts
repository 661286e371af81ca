/** Reading what a caller gives a report: values by filter name, each of the filter's type. */
import { didYouMean } from '../core/names.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { show } from '../core/values.ts'
import { collectionFor, type Documents } from './documents.ts'
import { accessTo } from './permission.ts'
import type { Report, ReportFilter } from './platform.ts'
import { readValue, relativeDay } from './values.ts'

/** The values in force, defaults included. AppError `invalid` with every problem at once. */
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
    const value = given[filter.name] ?? defaultOf(documents, filter)
    if (value === undefined || value === null || value === '') {
      // Collected with the other problems: a model mends all of them in one go.
      if (filter.required) problems.push(`${filter.name} is required (${filter.type})`)
      continue
    }
    const read = readValue(filter, value)
    if ('problem' in read) problems.push(`${filter.name}: ${read.problem}`)
    else if (
      filter.type === 'link' &&
      !(await isVisible(documents, principal, filter.doctype!, String(read.value)))
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

async function isVisible(
  documents: Documents,
  principal: Principal,
  name: string,
  document: string,
): Promise<boolean> {
  const doctype = documents.platform.doctypes.get(name)!
  const found = await collectionFor(documents, doctype).get(document)
  return found !== undefined && accessTo(principal, doctype, documents.clock.now()).allows('read', found)
}

/** A date default may be `today`, or `today-30` for thirty days ago. */
function defaultOf(documents: Documents, filter: ReportFilter): unknown {
  const match =
    filter.type === 'date' && typeof filter.default === 'string' ? relativeDay.exec(filter.default) : null
  if (!match) return filter.default
  const days = Number(match[2] ?? 0) * (match[1] === '-' ? -1 : 1)
  return isoTime(documents.clock.now() + days * 86_400_000).slice(0, 10)
}
