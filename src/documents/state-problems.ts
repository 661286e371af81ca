/** Finds stored documents that a changed site no longer allows; they are reported, never mended silently. */
import { collectionFor, type Documents } from './documents.ts'
import type { Doctype, Field } from './platform/platform.ts'
import { standardFields } from './platform/standard-fields.ts'
import { collectionOf } from './platform/read-doctypes.ts'
import type { StoredDocument } from './writing/stored.ts'
import { readValue } from './values.ts'

/** A problem of the state: something that the site's doctypes do not allow. */
export interface StateProblem {
  readonly doctype: string
  readonly field?: string
  /** The number of documents. */
  readonly count: number
  /** Some of their names. */
  readonly examples: readonly string[]
  readonly message: string
  /** The place of what they do not fit, as `file:line`. */
  readonly source: string
}

const mostExamples = 3

/** Compares every document with the platform's doctypes. For operators: it sees all documents. */
export async function stateProblems(documents: Documents): Promise<readonly StateProblem[]> {
  const problems: StateProblem[] = []
  const known = new Set([...documents.platform.doctypes.keys()].map(collectionOf))
  // A doctype that was removed or renamed leaves its documents behind.
  for (const [collection, count] of Object.entries(documents.store.stats().documents))
    if (collection.startsWith('document.') && !known.has(collection) && count > 0)
      problems.push({
        doctype: collection.slice('document.'.length),
        count,
        examples: [],
        message: 'no doctype has these documents any more; nobody can reach them',
        source: 'config/doctypes',
      })
  for (const doctype of documents.platform.doctypes.values())
    // What lies elsewhere is not our state.
    if (!doctype.child && !doctype.origin) problems.push(...(await problemsOf(documents, doctype)))
  return problems
}

/** The fields that every document has, whatever its doctype says. */
const standard = new Set(['id', 'amended_from', 'workflow_state', ...standardFields.keys()])

async function problemsOf(documents: Documents, doctype: Doctype): Promise<StateProblem[]> {
  const found = new Map<string, StateProblem>()
  const tell = ({ id }: StoredDocument, message: string, field?: string): void => {
    const key = `${field ?? ''}\n${message}`
    const { count = 0, examples = [] } = found.get(key) ?? {}
    found.set(key, {
      doctype: doctype.name,
      ...(field !== undefined && { field }),
      count: count + 1,
      examples: count < mostExamples ? [...examples, id] : examples,
      message,
      source: doctype.fields.get(field ?? '')?.source ?? doctype.source,
    })
  }
  const seen = new Map<string, Set<unknown>>()
  const states = documents.platform.workflows.get(doctype.name)?.states
  for (const document of await collectionFor(documents, doctype).find()) {
    for (const field of doctype.fields.values()) {
      const value = document[field.name] ?? null
      if (field.name === 'workflow_state' && value !== null && !states?.has(value as string))
        tell(document, 'the workflow has no such state', field.name)
      else if (value === null && field.required)
        tell(document, 'is required now, and has no value', field.name)
      else if (value !== null && field.name !== 'workflow_state') {
        for (const problem of await valueProblems(documents, field, value))
          tell(document, problem, field.name)
        // A cancelled document does not count, as on saving.
        if (!field.unique || document.docstatus === 2) continue
        const values = seen.get(field.name) ?? new Set()
        if (values.has(value)) tell(document, 'is unique now, and this value is there twice', field.name)
        seen.set(field.name, values.add(value))
      }
    }
    for (const name of Object.keys(document))
      if (!standard.has(name) && !doctype.fields.has(name) && document[name] !== null)
        tell(document, 'is no field any more; its values are kept but not shown', name)
    if (document.docstatus !== 0 && !doctype.submittable)
      tell(document, 'is submitted or cancelled, and the doctype is not submittable any more')
  }
  return [...found.values()]
}

async function valueProblems(documents: Documents, field: Field, value: unknown): Promise<string[]> {
  if (field.type === 'table') return Array.isArray(value) ? [] : ['is a table now, and holds a value']
  const read =
    Array.isArray(value) && field.type !== 'json'
      ? { problem: 'is a value now, and holds rows' }
      : readValue(field, value)
  const problems = 'problem' in read ? [kindOf(read.problem)] : []
  if (field.type !== 'link') return problems
  const target = documents.platform.doctypes.get(field.doctype!)!
  const isThere = await collectionFor(documents, target).get(value as string)
  return isThere ? problems : [...problems, `links to a ${target.name} that is not there`]
}

/** Returns the problem without the value, so that equal ones are counted together. */
function kindOf(problem: string): string {
  return problem.replace(/, not .*$/, '')
}
