/** Makes or changes the document of one row. */
import type { Warning } from '../writing/change.ts'
import { isMissing, show } from '../../core/values.ts'
import { compared } from '#state/questions.ts'
import { AppError } from '#leaf/errors.ts'
import { openTo } from '../asking/filters.ts'
import { changeable, reachOf, type Work } from '../documents.ts'
import { readValue } from '../values.ts'
import { createIn } from '../writing/creating.ts'
import { checkName } from '../writing/naming.ts'
import { updateIn } from '../writing/updating.ts'

/** One row to import: its number in the run, its line in the file, and its values by field. */
export interface ImportRow {
  readonly index: number
  readonly line: number
  readonly data: Readonly<Record<string, unknown>>
  /** Name, owner and time of creation, where they are kept. */
  readonly origin?: { readonly name?: unknown; readonly owner?: unknown; readonly creation?: unknown }
}

/** How rows become documents. */
export interface ImportOptions {
  /** The field by which a row finds the document to change; without it every row is a new one. */
  readonly key?: string | undefined
  readonly dryRun: boolean
  /** True when names, owners and times of creation of the file are kept. */
  readonly keepsOrigin: boolean
  /** Returns true for a user of the site, who may be the owner of what is imported. */
  readonly isUser: (user: string) => boolean
}

type Imported = {
  readonly outcome: 'created' | 'updated' | 'unchanged'
  readonly warnings: readonly Warning[]
}

/** Imports a row. AppError for its faults. */
export async function importOne(
  work: Work,
  { data: given, origin }: ImportRow,
  { key, isUser, keepsOrigin }: ImportOptions,
): Promise<Imported> {
  const { access } = work
  const isAsked = access.doctype.naming.rule === 'prompt'
  const closed = Object.keys(origin ?? {}).filter((one) => !keepsOrigin && !(isAsked && one === 'name'))
  if (closed.length > 0)
    throw new AppError('forbidden', `${closed.join(', ')}: not kept here (documents.import_keeps_origin)`)
  const data = await withLinks(work, given)
  const name = key === undefined ? undefined : await nameByKey(work, key, data, origin?.name)
  if (name !== undefined) {
    const before = await changeable(access, 'write', name, work.tx)
    const { updatedFields, warnings } = await updateIn(work, before, data)
    return { outcome: updatedFields.length > 0 ? 'updated' : 'unchanged', warnings }
  }
  const named = origin?.name
  const kept = isMissing(named) ? undefined : checkName(named, 'name')
  const { warnings } = await createIn(work, data, originOf(work, origin, isUser), kept)
  return { outcome: 'created', warnings }
}

/** Returns the name of the document that has the key of a row; undefined when none has. */
async function nameByKey(
  { access, tx }: Work,
  key: string,
  data: ImportRow['data'],
  named: unknown,
): Promise<string | undefined> {
  const collection = access.collection(tx)
  if (key === 'name') {
    const name = checkName(named ?? data['name'], 'name')
    const document = await collection.get(name)
    return document && access.allows('read', document) ? name : undefined
  }
  const read = readValue(access.doctype.fields.get(key)!, data[key])
  if ('problem' in read)
    throw new AppError('invalid', `${key}: ${read.problem}`, {
      data: { problems: [`${key}: ${read.problem}`] },
    })
  if (read.value === null) throw new AppError('invalid', `${key}: is the key, and must be there`)
  const holds = openTo(access, compared(key, '=', read.value))
  const found = await collection.find({ holds, limit: 2 })
  if (found.length > 1)
    throw new AppError(
      'conflict',
      `${key}: several ${access.doctype.name} documents have ${show(read.value)}`,
    )
  return found[0]?.id
}

/** Returns the data with `customer.erp_id` as the name of the customer that has this `erp_id`. */
async function withLinks(work: Work, data: ImportRow['data']): Promise<ImportRow['data']> {
  if (!Object.keys(data).some((name) => name.includes('.'))) return data
  const linked: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(data)) {
    const [field = '', by] = name.split('.')
    linked[field] = by === undefined || isMissing(value) ? value : await linkedName(work, field, by, value)
  }
  return linked
}

async function linkedName(
  { documents, principal, access: { doctype }, tx }: Work,
  name: string,
  by: string,
  value: unknown,
): Promise<string> {
  const target = documents.platform.doctypes.get(doctype.fields.get(name)?.doctype ?? '')
  const access = target && reachOf(documents, principal, target)
  const field = target?.fields.get(by)
  const read = field?.unique && access?.queryable(field) ? readValue(field, value) : { problem: 'no key' }
  const holds = access && 'value' in read ? openTo(access, compared(by, '=', read.value)) : undefined
  const [found] = holds ? await access!.collection(tx).find({ holds, limit: 1 }) : []
  if (found) return found.id
  throw new AppError('invalid', `${name}.${by}: there is no document with ${show(value)} that you may read`)
}

function originOf(
  { documents }: Work,
  origin: ImportRow['origin'],
  isUser: ImportOptions['isUser'],
): Readonly<Record<string, unknown>> {
  const { owner, creation } = origin ?? {}
  const kept: Record<string, unknown> = {}
  if (!isMissing(owner)) {
    if (typeof owner !== 'string' || !isUser(owner))
      throw new AppError('invalid', `owner: ${show(owner)} is no user of config/users.yaml`)
    kept['owner'] = owner
  }
  if (!isMissing(creation)) {
    const read = readValue({ type: 'datetime', options: [] }, creation)
    if ('problem' in read) throw new AppError('invalid', `creation: ${read.problem}`)
    if (Date.parse(read.value as string) > documents.clock.now())
      throw new AppError('invalid', `creation: ${show(creation)} is still to come`)
    kept['creation'] = read.value
  }
  return kept
}
