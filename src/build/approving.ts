import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { WaitingApproval } from '../core/suspended.ts'
import type { Documents } from '../documents/documents.ts'
import type { Doctype } from '../documents/platform.ts'
import { type DocumentView, getDocument } from '../documents/reading.ts'
import type { CallSubject, SubjectOf } from '../pages/approvals-endpoint.ts'
import { viewed } from './viewing.ts'

const mostFields = 8

/** What a call that waits is about, as far as whoever decides may read it; told like any other look at a document. */
export function subjects(documents: () => Documents, audit: Audit): SubjectOf {
  return (user, call) =>
    viewed(audit, user, { type: 'approval.view', target: call.id }, (principal) =>
      subjectOf(documents(), principal, call),
    )
}

async function subjectOf(
  documents: Documents,
  principal: Principal,
  { arguments: given }: WaitingApproval,
): Promise<CallSubject> {
  const args = isObject(given) ? given : {}
  // What has several lines is a program, a statement or a letter: it is read as such.
  const texts = Object.entries(args).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1].includes('\n'),
  )
  const { doctype: named, name, data } = args
  const doctype = typeof named === 'string' ? documents.platform.doctypes.get(named) : undefined
  if (!doctype) return { texts }
  const document =
    typeof name === 'string' ? await readableBy(documents, principal, doctype, name) : undefined
  const title = document?.[doctype.titleField ?? ''] ?? name
  return {
    texts,
    doctype: doctype.name,
    ...(title !== undefined && { title: textOf(title) }),
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
): NonNullable<CallSubject['changes']> {
  return Object.entries(data).map(([name, to]) => ({
    label: fields.get(name)?.label ?? name,
    ...(document && { from: textOf(document[name]) }),
    to: textOf(to),
  }))
}

/** By which people know a document: its title, what it is found by, and the first of the rest. */
function mainFields(doctype: Doctype, document: DocumentView): NonNullable<CallSubject['fields']> {
  const first = [doctype.titleField, ...doctype.searchFields].filter((name) => name !== undefined)
  const names = [...new Set([...first, ...doctype.fields.keys()])]
  return names
    .filter((name) => name !== 'name' && (document[name] ?? null) !== null)
    .filter((name) => doctype.fields.get(name)?.type !== 'table')
    .slice(0, mostFields)
    .map((name) => ({ label: doctype.fields.get(name)?.label ?? name, value: textOf(document[name]) }))
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
