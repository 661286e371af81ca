/** The page of one document: all that belongs to it, and what its reader may do with it. */
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Principal } from '../../core/principal.ts'
import { linkedFrom } from '../../documents/asking/links.ts'
import { getDocument } from '../../documents/asking/reading.ts'
import { listBelongings, maxAttachmentBytes } from '../../documents/belongings.ts'
import { accessFor, type Documents } from '../../documents/documents.ts'
import { possibleDeeds } from '../../documents/forms.ts'
import { historyOf } from '../../documents/history.ts'
import type { PageForm } from '#ui/browser.ts'
import { pathPart } from '#ui/requests.ts'
import { orDash } from './call-subject.ts'
import { belongingForms } from './document-inputs.ts'
import { changesBetween, personName, type ShownChange, shownValue, documentWords } from './document-words.ts'
import { looked } from './documents-endpoint.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import type { Deed, OwnPage, Visit } from '../own-page.ts'
import { refusedAt, numberText, type Reader } from '#ui/forms.ts'
import { pages } from '../pages.ts'
import { principalAt } from '../session-middleware.ts'
import { usableTool, useTool } from './use-tool.ts'
import { documentsFor } from './viewing.ts'
import { readerOf } from '../views.ts'

const mostChanges = 50
/** The actions on all documents, which have words in every language; workflows have words of their own. */
const acts = 'create update submit cancel amend comment assign unassign attach detach'.split(' ')
/** The most links from each doctype. */
const mostLinks = 10

/** A step of a document: the tool that takes it, its arguments, and where it leads. */
interface Step {
  readonly tool: string
  /** True for what cannot be taken back: it is always shown before it is done. */
  readonly isFinal?: true
  readonly args?: (form: PageForm) => Readonly<Record<string, unknown>>
  readonly to?: (place: Place, result: Readonly<Record<string, unknown>>) => string
}

interface Place {
  readonly doctype: string
  readonly name: string
}

const text = (form: PageForm, name: string): string => (form.get(name) ?? '').replaceAll('\r\n', '\n')

/** What may be done to a document, besides changing it by its form. */
export const steps: Readonly<Record<string, Step>> = {
  submit: { tool: 'submit_document', isFinal: true },
  cancel: { tool: 'cancel_document', isFinal: true },
  amend: {
    tool: 'amend_document',
    to: ({ doctype }, { name }) => `${addressOf({ doctype, name: String(name) })}/edit`,
  },
  delete: { tool: 'delete_document', isFinal: true, to: ({ doctype }) => listOf(doctype) },
  move: { tool: 'run_workflow', args: (form) => ({ action: text(form, 'action') }) },
  comment: { tool: 'add_comment', args: (form) => ({ comment: text(form, 'comment') }) },
  assign: {
    tool: 'assign',
    args: (form) => ({ user: text(form, 'user').trim(), note: text(form, 'note').slice(0, 500) }),
  },
  unassign: { tool: 'assign', args: (form) => ({ user: text(form, 'user'), remove: true }) },
  attach: { tool: 'attach_file', args: attached },
  detach: { tool: 'remove_attachment', isFinal: true, args: (form) => ({ attachment: text(form, 'id') }) },
}

/** The tool behind each verb that the page offers. */
const toolOf: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(steps).map(([verb, { tool }]) => [verb, tool])),
  change: 'update_document',
}

/** Makes the page of one document. */
export function documentPage(deps: UserPageDeps): OwnPage {
  return {
    largestFile: maxAttachmentBytes,
    show: async (visit) => {
      const place = placeOf(visit)
      const reader = readerOf(visit.ctx)
      const shown = await looked(
        deps,
        principalAt(visit, deps),
        { target: `${place.doctype}/${place.name}` },
        async (documents, principal) => ({
          ...(await shownDocument(documents, principal, place, reader)),
          ...(await offered(deps, documents, principal, place)),
        }),
      )
      return {
        ...place,
        ...shown,
        acts,
        ...belongingForms(visit, shown.asksToAttach),
        key: randomId(),
        saved: visit.form === undefined && 'saved' in visit.ctx.query,
        amount: (value: number) => numberText(value, reader),
      }
    },
    deeds: Object.fromEntries(Object.entries(steps).map(([verb, step]) => [verb, deed(deps, verb, step)])),
  }
}

/** Makes the form of a step: what is to be confirmed is tried first, and shown before it is done. */
function deed(deps: UserPageDeps, verb: string, step: Step): Deed {
  return {
    run: async (visit, form) => {
      const place = placeOf(visit)
      const principal = principalAt(visit, deps)
      const more = step.args?.(form) ?? {}
      const args = { ...place, ...more }
      const asks = step.isFinal || usableTool(deps, principal, step.tool)?.confirm !== 'never'
      const confirmed = form.get('confirmed') !== undefined
      if (asks && !confirmed && form.file === undefined) {
        const tried = await useTool(deps, principal, step.tool, { ...args, dry_run: true })
        const changes = await changesOf(deps, visit, place, { tried, more })
        return { once: { confirm: { verb, changes, fields: Object.entries(more), ...more } } }
      }
      if (confirmed) await requireUnchanged(deps, principal, place, form.get('modified'))
      const result = await useTool(deps, principal, step.tool, args, { key: form.get('key'), confirmed })
      return step.to && { to: step.to(place, result) }
    },
  }
}

/** Refuses what was confirmed over another state of the document. */
export async function requireUnchanged(
  deps: UserPageDeps,
  principal: Principal,
  { doctype, name }: Place,
  seen: string | undefined,
): Promise<void> {
  if (seen === undefined) return
  const { version } = await possibleDeeds(documentsFor(principal, deps), principal, doctype, name)
  if (version !== seen)
    throw new AppError('conflict', 'it was changed meanwhile; look at it again before you confirm')
}

/** Returns what a step would change, in words; of a step that changes no field, what was given. */
export async function changesOf(
  deps: UserPageDeps,
  visit: Visit,
  { doctype, name }: Place,
  { tried, more }: { readonly tried: Readonly<Record<string, unknown>>; readonly more: object },
): Promise<readonly ShownChange[]> {
  const principal = principalAt(visit, deps)
  const documents = documentsFor(principal, deps)
  const reader = readerOf(visit.ctx)
  const before = await getDocument(documents, principal, doctype, name)
  const said = reader.messages
  if (typeof tried['current_state'] === 'string')
    return [
      {
        label: said.text('documents.state'),
        from: orDash(tried['previous_state']),
        to: tried['current_state'],
      },
    ]
  const after = tried['data']
  const type = accessFor(documents, principal, doctype).doctype
  if (typeof after === 'object' && after !== null)
    return changesBetween(documents, type, { before, after: after as typeof before }, reader)
  return Object.values(more)
    .filter((value) => typeof value === 'string' && value !== '')
    .map((value) => ({ label: said.text('approval.value'), from: '–', to: String(value) }))
}

async function shownDocument(
  documents: Documents,
  principal: Principal,
  { doctype, name }: Place,
  reader: Reader,
) {
  const { doctype: type } = accessFor(documents, principal, doctype)
  const view = await getDocument(documents, principal, doctype, name)
  const ask = [documents, principal, doctype, name] as const
  const person = (user: unknown): string => personName(documents, user)
  const { titleField } = type
  const titled = titleField === undefined ? undefined : type.fields.get(titleField)
  const words = await documentWords(documents, principal, type, view, reader)
  const title = titled && words.fields.find(({ label }) => label === titled.label)?.value
  return {
    ...words,
    title: title ?? name,
    // The docstatus of a submittable doctype: 0 a draft, 1 submitted, 2 cancelled.
    state: type.submittable ? view['docstatus'] : undefined,
    times: [
      { word: 'made', user: person(view['owner']), time: orDash(view['creation']) },
      { word: 'changed', user: person(view['modified_by']), time: orDash(view['modified']) },
      // A table of others need not tell.
    ].filter(({ time }) => !Number.isNaN(Date.parse(time))),
    links: await linkedFrom(...ask, mostLinks),
    comments: named(await listBelongings(...ask, 'comment'), person),
    assignments: named(await listBelongings(...ask, 'assignment'), person),
    files: await listBelongings(...ask, 'attachment'),
    history: (await historyOf(...ask, mostChanges)).map(({ time, user, action, changes, note }) => ({
      labels: [
        ...new Set(changes.map(({ field }) => type.fields.get(/^\w+/.exec(field)?.[0] ?? '')?.label ?? '')),
      ]
        .filter(Boolean)
        .join(', '),
      time,
      user: person(user),
      action,
      note: ['assign', 'unassign'].includes(action) ? person(note) : (note ?? ''),
      changes: changes.map(({ field: path, from, to }) => {
        const [field, column] = path.split(/\[.*\]\.?/) as [string, string?]
        const whole = type.fields.get(field)
        const part = documents.platform.doctypes.get(whole?.doctype ?? '')?.fields.get(column ?? '')
        const known = part ?? whole
        const say = (value: unknown): string =>
          path === 'docstatus'
            ? reader.messages.text(`documents.state_${String(value)}`)
            : known && typeof value !== 'object'
              ? shownValue(known, value, reader).value
              : orDash(value)
        return {
          label: path === 'docstatus' ? '' : [whole?.label ?? field, part?.label].filter(Boolean).join(' › '),
          from: say(from),
          to: say(to),
        }
      }),
    })),
  }
}

function named<One extends { readonly user: string }>(
  all: readonly One[],
  person: (user: unknown) => string,
): (One & { readonly person: string })[] {
  return all.map((one) => ({ ...one, person: person(one.user) }))
}

/** Returns what the reader may do here: by the rules of the document, and where the site has not switched the tool off. */
async function offered(
  deps: UserPageDeps,
  documents: Documents,
  principal: Principal,
  { doctype, name }: Place,
) {
  const { verbs, moves, document, version } = await possibleDeeds(documents, principal, doctype, name)
  const has = (verb: string): boolean => usableTool(deps, principal, toolOf[verb]!) !== undefined
  const may = Object.fromEntries([...verbs].map((verb) => [verb, has(verb)]))
  const asks = (verb: string): boolean => usableTool(deps, principal, toolOf[verb]!)?.confirm !== 'never'
  return {
    modified: version,
    may: { ...may, unassign: may['assign'], detach: verbs.has('attach') && has('detach') },
    moves: has('move') ? moves.map(({ action }) => action) : [],
    stage: typeof document['workflow_state'] === 'string' ? document['workflow_state'] : '',
    asksToAttach: asks('attach'),
  }
}

function attached({ file }: PageForm): Readonly<Record<string, unknown>> {
  if (!file?.content.length) throw refusedAt('file', 'invalid', file ? 'the file is empty' : 'choose a file')
  const base64 = Buffer.from(file.content).toString('base64')
  const isType = /^[a-z]+\/[A-Za-z0-9.+-]{1,100}$/.test(file.type)
  return { file_name: file.name, base64, ...(isType && { mime_type: file.type }) }
}

function placeOf({ ctx }: Visit): Place {
  return { doctype: pathPart(ctx, 'doctype'), name: pathPart(ctx, 'name') }
}

/** Returns the address of a document. */
export function addressOf({ doctype, name }: Place): string {
  return `${listOf(doctype)}/${encodeURIComponent(name)}`
}

/** Returns the address of the documents of a doctype. */
export function listOf(doctype: string): string {
  return `${pages.documents.path}/${encodeURIComponent(doctype)}`
}
