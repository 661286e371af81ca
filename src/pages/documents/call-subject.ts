import { isObject } from '#leaf/as-json.ts'
import { pictured } from '#leaf/pictured.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import type { WaitingApproval } from '../../core/suspended.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Doctype } from '../../documents/platform/platform.ts'
import { type DocumentView, getDocument } from '../../documents/asking/reading.ts'
import { pages } from '../pages.ts'

const mostFields = 8

/** Returns the subject of a waiting call, in the values that the person who decides may read. */
export async function subjectOf(
  documents: Documents,
  principal: Principal,
  { arguments: given }: WaitingApproval,
) {
  const args = isObject(given) ? given : {}
  // A text of several lines is a program, a statement or a letter, and is shown as such.
  const texts = Object.entries(args).flatMap(([name, text]) =>
    typeof text === 'string' && text.includes('\n')
      ? [{ name: pictured(name), text: picturedLines(text) }]
      : [],
  )
  const blank = { title: '', changes: [], fields: [], texts }
  const { doctype: named, name, data } = args
  const doctype = typeof named === 'string' ? documents.platform.doctypes.get(named) : undefined
  if (!doctype) return blank
  const document =
    typeof name === 'string' ? await readableBy(documents, principal, doctype, name) : undefined
  const title = document?.[doctype.titleField ?? ''] ?? name
  return {
    ...blank,
    doctype: doctype.name,
    ...(title !== undefined && { title: pictured(orDash(title)) }),
    // True when a document of this name exists that they may read.
    ...(typeof name === 'string' && { name, found: document !== undefined }),
    ...(isObject(data)
      ? { changes: changesOf(doctype, document, data) }
      : document && { fields: mainFields(doctype, document) }),
  }
}

async function readableBy(
  documents: Documents,
  principal: Principal,
  doctype: Doctype,
  name: string,
): Promise<DocumentView | undefined> {
  try {
    return await getDocument(documents, principal, doctype.name, name)
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}

function changesOf(
  { fields }: Doctype,
  document: DocumentView | undefined,
  data: Readonly<Record<string, unknown>>,
) {
  return Object.entries(data).map(([name, to]) => ({
    label: fields.get(name)?.label ?? name,
    from: document ? picturedLines(orDash(document[name])) : '',
    to: picturedLines(orDash(to)),
  }))
}

/** Returns the fields by which people know a document: its title, its search fields, and the first of the rest. */
function mainFields(doctype: Doctype, document: DocumentView) {
  const first = [doctype.titleField, ...doctype.searchFields].filter((name) => name !== undefined)
  const names = [...new Set([...first, ...doctype.fields.keys()])]
  return names
    .filter((name) => name !== 'name' && (document[name] ?? null) !== null)
    .filter((name) => doctype.fields.get(name)?.type !== 'table')
    .slice(0, mostFields)
    .map((name) => ({
      label: doctype.fields.get(name)?.label ?? name,
      value: picturedLines(orDash(document[name])),
    }))
}

/** Makes invisible and reordering characters visible: nothing that a user decides about may hide behind them. */
function picturedLines(text: string): string {
  return text.split('\n').map(pictured).join('\n')
}

/** Returns a value as people read it, and a dash for none. */
export function orDash(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns a call in the words of the pages. */
export function shownCall(call: WaitingApproval): Record<string, unknown> {
  return {
    action: `${pages.approvals.path}/${call.id}`,
    about: aboutOf(call.arguments),
    client: pictured(call.client?.name ?? ''),
    user: call.user,
    tool: call.tool,
    title: call.title,
    destructive: call.destructive,
    arguments: picturedLines(JSON.stringify(call.arguments, null, 2)),
    asked: call.createdAt,
    expires: call.expiresAt,
    pending: call.state === 'pending',
    state: call.state,
  }
}

/** Names the document, by the names in the arguments: titles cost a query each, and are on its page. */
function aboutOf(given: unknown): string {
  const { doctype, name } = (given ?? {}) as { readonly doctype?: unknown; readonly name?: unknown }
  return pictured([doctype, name].filter((word) => typeof word === 'string').join(' '))
}
