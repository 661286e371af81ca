/** Values of filters that nothing has: the empty answer, or that of all where they are to be spared, would pass for one about what was meant. */
import { AppError } from '#leaf/errors.ts'
import { compared } from '#state/questions.ts'
import { mayAtBrowser } from '../../core/effects.ts'
import { show } from '../../core/values.ts'
import { type Reach, reachOf } from '../documents.ts'
import type { Doctype } from '../platform/platform.ts'
import { standardFields } from '../platform/standard-fields.ts'
import { comparableField, conditionOf, type Filter, ofTexts, openTo, readFilters } from './filters.ts'
import { formMeant, type Meant, type Operator } from './filter-forms.ts'
import { meant, nearText } from './near-names.ts'
import { holdsUser } from './user-fields.ts'

const named: ReadonlySet<string> = new Set(['=', '!=', 'in', 'not in'])
/** The most names that are looked up in one filter. */
const mostNames = 50
/** The most names and texts of one call for which something near is looked for, among thousands of documents each time. */
const mostMissed = 5

/** Reads filters of a call. AppError `invalid` also for names that neither a document nor the field of one has. */
export async function filtersOf(access: Reach, filters: unknown): Promise<Filter[]> {
  const read = readFilters(access, filters)
  await requireNames(access, read)
  return read
}

/**
 * Refuses names in filters on links and users that nothing has which the principal may read, and texts that no field has
 * where one has something near: whoever asks whether there is another text is told that there is none.
 */
export async function requireNames(access: Reach, filters: readonly Filter[]): Promise<void> {
  const problems: string[] = []
  const missed = { left: mostMissed }
  for (const filter of filters) {
    if (missed.left === 0) break
    const { field, operator, value } = filter
    const kind = kindOf(access, field)
    if (kind === undefined || !named.has(operator)) {
      problems.push(...(await unlike(access, filter, missed)))
      continue
    }
    const values = [value].flat().filter((one): one is string => typeof one === 'string')
    if (values.length === 0 || (field === 'name' && values.length > 1)) continue
    for (const one of await missing(access, kind, values.slice(0, mostNames)))
      if (missed.left > 0 && !(await isFound(access, { field, operator: '=', value: one }))) {
        missed.left--
        problems.push(`${field}: there is no ${await nobody(access, kind, one)}`)
      }
  }
  if (problems.length > 0)
    throw new AppError('invalid', `filters: ${problems.join('; ')}`, { data: { problems } })
}

/** Returns what the values of a field name: documents of a doctype, or users. */
function kindOf({ doctype, documents }: Reach, field: string): Doctype | 'user' | undefined {
  if (field === 'name') return doctype
  const target = doctype.fields.get(field)?.doctype
  if (target !== undefined) return documents.platform.doctypes.get(target)
  const type = standardFields.get(field) ?? doctype.fields.get(field)?.type
  return type === 'text' && holdsUser(doctype, field) ? 'user' : undefined
}

async function nobody(access: Reach, kind: Doctype | 'user', name: string): Promise<string> {
  if (kind !== 'user')
    return `${kind.name} "${name}" that you may read${await meant(reachFrom(access, kind), name)}`
  const known = userNamed(access, name)
  return `user "${name}"; ${known === undefined ? 'a user is an e-mail address, or me' : `did you mean "${known}"?`}`
}

/** Finds a user by an address; whoever may not list users is not told which addresses are one's: any may be. */
function userNamed({ documents, asker }: Reach, name: string): string | undefined {
  if (mayAtBrowser(asker.principal, 'administer')) return documents.platform.people.find(name)?.id
  return name.includes('@') ? name.toLowerCase() : undefined
}

async function missing(
  access: Reach,
  kind: Doctype | 'user',
  values: readonly string[],
): Promise<readonly string[]> {
  if (kind === 'user') return values.filter((one) => userNamed(access, one) !== one)
  const target = reachFrom(access, kind)
  const holds = openTo(target, compared('id', 'in', values))
  const found = await target.collection().find({ holds, limit: values.length })
  return values.filter((one) => !found.some(({ id }) => id === one))
}

/** Tells of texts in a condition that nothing has, with what is near. */
async function unlike(
  access: Reach,
  { field, operator, value }: Filter,
  missed: { left: number },
): Promise<string[]> {
  // Whether it takes or spares what it asks for.
  const plain = operator.replace('not ', '') as Operator
  const asked = named.has(operator) ? '=' : ofTexts.has(operator) ? plain : undefined
  const comparable = comparableField(access, field)
  // Where texts that are near are not looked for, whether there is this one need not be asked.
  if (
    access.doctype.origin ||
    asked === undefined ||
    typeof comparable === 'string' ||
    !textual.has(comparable.type)
  )
    return []
  const isThere = (one: string) => isFound(access, { field, operator: asked, value: one })
  const texts = [value].flat().filter((one): one is string => typeof one === 'string')
  // The first of a list that came as one text is the whole text, which may be one value.
  const [whole, ...parts] = texts
  const split = parts.length > 0 && parts.every((one) => whole!.includes(one))
  if (split && (await isThere(whole!))) return []
  const problems: string[] = []
  for (const one of (split ? parts : texts).slice(0, mostNames)) {
    if (missed.left === 0) break
    if (await isThere(one)) continue
    missed.left--
    const form = asked === '=' ? await plausible(access, field, formMeant(one)) : undefined
    const near = form ?? (await nearText(access, [field], one, asked === '='))
    if (near === undefined) continue
    const word = asked === '=' ? 'has' : asked === 'like' ? 'is like' : asked
    problems.push(
      `${field}: no ${access.doctype.name} that you may read ${word} ${show(one)}; did you mean ${form ?? show(near)}?`,
    )
  }
  return problems
}

/** Returns the form that was meant, unless its words may be a text and no document has any of them in this field. */
async function plausible(
  access: Reach,
  field: string,
  meant: Meant | undefined,
): Promise<string | undefined> {
  if (!meant?.values) return meant?.form
  for (const value of meant.values)
    if (await isFound(access, { field, operator: 'contains', value })) return meant.form
  return undefined
}

const textual: ReadonlySet<string> = new Set(['text', 'long_text', 'link'])

/** True when a document that the principal may read is found so: then it is no mistake, whatever became of what it names. */
async function isFound(access: Reach, filter: Filter): Promise<boolean> {
  const holds = openTo(access, conditionOf([filter]))
  return (await access.collection().count({ holds, limit: 1 })) > 0
}

function reachFrom({ documents, asker }: Reach, doctype: Doctype): Reach {
  return reachOf(documents, asker.principal, doctype)
}
