/** What people do to several documents of a list: by the tool for one, one by one, shown before it is done, told of each. */
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Principal } from '../../core/principal.ts'
import { accessFor, type Documents } from '../../documents/documents.ts'
import type { Field } from '../../documents/platform/platform.ts'
import { possibleDeeds } from '../../documents/forms.ts'
import { type Params, pathPart } from '#ui/requests.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import { choicesFor, typedField } from './document-inputs.ts'
import { changesOf, requireUnchanged, steps } from './document-page.ts'
import type { Deed, Visit } from '../own-page.ts'
import { problemsIn, type Reader, type TypedField, givenIn, shownForm } from '#ui/forms.ts'
import { principalAt } from '../session-middleware.ts'
import { usableTool, useTool } from './use-tool.ts'
import { documentsFor } from './viewing.ts'
import { readerOf } from '../views.ts'

/** The most documents at a time: those that a page shows. */
const mostAtOnce = 50

const verbs = ['assign', 'submit', 'cancel', 'delete'] as const
const settable: ReadonlySet<Field['type']> = new Set(
  'text number integer currency percent check date datetime select link'.split(' ') as Field['type'][],
)

/** Something that may be done to the documents of a doctype. */
interface Bulk {
  /** A verb, or `set` with a field behind it. */
  readonly value: string
  readonly label: string
  readonly tool: string
  /** What has to be said before. */
  readonly fields: readonly TypedField[]
}

/** Returns what this principal may do to documents of a doctype; of each document the tool decides. */
export function bulkOf(
  deps: UserPageDeps,
  documents: Documents,
  principal: Principal,
  doctype: string,
  { messages: { text: say } }: Reader,
): readonly Bulk[] {
  const access = accessFor(documents, principal, doctype)
  const isMoved = documents.platform.workflows.has(doctype)
  const can = (verb: (typeof verbs)[number]): boolean =>
    access.may(verb) && (verb === 'assign' || verb === 'delete' || (access.doctype.submittable && !isMoved))
  const assignment: TypedField[] = [
    { name: 'user', label: say('documents.assigned'), kind: 'line', required: true },
    { name: 'note', label: say('documents.what_to_do'), kind: 'line', longest: 500 },
  ]
  const fields = [...access.doctype.fields.values()].filter(
    (field) =>
      settable.has(field.type) && !field.readOnly && field.computed === undefined && access.knows(field),
  )
  const all = [
    ...verbs.filter(can).map((verb) => ({
      value: verb as string,
      label: say(`documents.do_${verb}`),
      tool: steps[verb]!.tool,
      fields: verb === 'assign' ? assignment : [],
    })),
    ...(access.may('write') ? fields : []).map((field) => ({
      value: `set ${field.name}`,
      label: say('bulk.set').replace('{field}', () => field.label),
      tool: 'update_document',
      fields: [typedField(field)],
    })),
  ]
  return all.filter(({ tool }) => usableTool(deps, principal, tool) !== undefined)
}

/** A document that was ticked; `modified` is set once its change was shown. */
interface Ticked {
  readonly name: string
  readonly modified: string | undefined
}

/** Returns the documents that a form has ticked. */
export function tickedIn(form: Params | undefined): readonly Ticked[] {
  return [...Array(mostAtOnce).keys()].flatMap((index) => {
    const name = form?.get(`row.${index}`)
    return name === undefined ? [] : [{ name, modified: form?.get(`modified.${index}`) }]
  })
}

/** Makes the form: it asks for what has to be said, shows what would change in each document, and does it. */
export function bulkDeed(deps: UserPageDeps): Deed {
  return {
    run: async (visit, form) => {
      const asking = askingIn(deps, visit, form)
      const { bulk, ticked, given } = asking
      if (ticked.length === 0) throw new AppError('invalid', 'tick the documents that you mean')
      const isSet = bulk.tool === 'update_document'
      const about = { label: bulk.label, value: bulk.value, isSet, ticked, key: randomId() }
      if (bulk.fields.length > 0 && given === undefined)
        return { once: { bulk: { ...about, ask: await askedFor(deps, asking, visit) } } }
      if (form.get('confirmed') === undefined) {
        const rows = []
        for (const one of ticked) rows.push(await tried(deps, visit, asking, one))
        const problems = rows.flatMap(({ problem }) => problem ?? [])
        // What is wrong with all of them is wrong with what was typed.
        if (bulk.fields.length > 0 && problems.length === rows.length) {
          const ask = await askedFor(deps, asking, visit, rows[0]!.problems)
          return { once: { bulk: { ...about, ask } } }
        }
        const fields = bulk.fields.flatMap(({ name }) => {
          const value = form.get(`f.${name}`)
          return value === undefined ? [] : [[`f.${name}`, value]]
        })
        return { once: { bulk: { ...about, confirm: { rows, fields } } } }
      }
      const done = []
      for (const [index, one] of ticked.entries())
        done.push(await did(deps, visit, asking, { ...one, key: `${form.get('key') ?? ''}-${index}` }))
      return { once: { bulk: { ...about, done } } }
    },
  }
}

interface Asking {
  readonly doctype: string
  readonly principal: Principal
  readonly bulk: Bulk
  readonly ticked: readonly Ticked[]
  /** What was said; undefined as long as nobody was asked. */
  readonly given: Readonly<Record<string, unknown>> | undefined
}

function askingIn(deps: UserPageDeps, visit: Visit, form: Params): Asking {
  const doctype = pathPart(visit.ctx, 'doctype')
  const principal = principalAt(visit, deps)
  const reader = readerOf(visit.ctx)
  const all = bulkOf(deps, documentsFor(principal, deps), principal, doctype, reader)
  const bulk = all.find(({ value }) => value === form.get('do'))
  if (!bulk) throw new AppError('invalid', 'choose what to do with the documents')
  const given = form.get('asked') === undefined ? undefined : givenIn(form, bulk.fields, { reader })
  return { doctype, principal, bulk, ticked: tickedIn(form), given }
}

async function askedFor(
  deps: UserPageDeps,
  { principal, bulk }: Asking,
  { ctx, form }: Visit,
  problems: readonly string[] = [],
) {
  const typed = form?.get('asked') === undefined ? undefined : form
  const documents = documentsFor(principal, deps)
  return {
    ...shownForm(bulk.fields, { form: typed, problems, reader: readerOf(ctx) }),
    choices: await choicesFor(documents, principal, bulk.fields),
  }
}

function argumentsFor(
  { doctype, bulk, given = {} }: Asking,
  name: string,
): Readonly<Record<string, unknown>> {
  const place = { doctype, name }
  if (bulk.tool === 'update_document') return { ...place, data: given }
  const { note, ...more } = given
  return { ...place, ...more, ...(typeof note === 'string' && { note }) }
}

/** Returns what a document would become, or why it would not. */
async function tried(deps: UserPageDeps, visit: Visit, asking: Asking, { name }: Ticked) {
  const { doctype, principal, bulk, given = {} } = asking
  return await told(visit, name, async () => {
    const args = { ...argumentsFor(asking, name), dry_run: true }
    const result = await useTool(deps, principal, bulk.tool, args)
    const more = bulk.tool === 'update_document' ? {} : given
    const changes = await changesOf(deps, visit, { doctype, name }, { tried: result, more })
    const { version } = await possibleDeeds(documentsFor(principal, deps), principal, doctype, name)
    return { changes, modified: version }
  })
}

async function did(
  deps: UserPageDeps,
  visit: Visit,
  asking: Asking,
  { name, modified, key }: Ticked & { readonly key: string },
) {
  const { doctype, principal, bulk } = asking
  return await told(visit, name, async () => {
    await requireUnchanged(deps, principal, { doctype, name }, modified)
    await useTool(deps, principal, bulk.tool, argumentsFor(asking, name), { key, confirmed: true })
    return {}
  })
}

interface Told {
  readonly name: string
  readonly problem?: string
  readonly problems?: readonly string[]
}

/** Returns the outcome of one document, in the reader's words when it was refused. */
async function told<Outcome extends object>(
  { ctx }: Visit,
  name: string,
  work: () => Promise<Outcome>,
): Promise<Told & Partial<Outcome>> {
  try {
    return { name, ...(await work()) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const problem = readerOf(ctx).messages.fault(error.message)
    return { name, problem, problems: problemsIn(error) } as Told & Partial<Outcome>
  }
}
