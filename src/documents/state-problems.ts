/** What a changed site makes of the documents that are there already: told, never mended silently. */
import { collectionFor, type Documents } from './documents.ts'
import type { Doctype, Field } from './platform.ts'
import { collectionOf } from './read-doctypes.ts'
import type { StoredDocument } from './stored.ts'
import { readValue } from './values.ts'

/** One thing in the state that the site's doctypes do not allow. */
export interface StateProblem {
  readonly doctype: string
  readonly field?: string
  /** How many documents. */
  readonly count: number
  /** Some of their names. */
  readonly examples: readonly string[]
  readonly message: string
  /** `file:line` of what they do not fit. */
  readonly source: string
}

const mostExamples = 3

/** Compares every document with the platform's doctypes. For operators: it sees all documents. */
export async function stateProblems(documents: Documents): Promise<readonly StateProblem[]> {
  const problems: StateProblem[] = []
  const known = new Set([...documents.platform.doctypes.keys()].map(collectionOf))
  // A doctype that was taken out or renamed leaves its documents behind.
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
    if (!doctype.child) problems.push(...(await problemsOf(documents, doctype)))
  return problems
}

async function problemsOf(documents: Documents, doctype: Doctype): Promise<StateProblem[]> {
  const found = new Map<
    string,
    { field?: string; names: string[]; count: number; message: string; source: string }
  >()
  const tell = (
    document: StoredDocument,
    field: Field | undefined,
    name: string | undefined,
    message: string,
  ): void => {
    const key = `${name ?? ''}\n${message}`
    const source = field?.source ?? doctype.source
    const entry = found.get(key) ?? {
      ...(name !== undefined && { field: name }),
      names: [],
      count: 0,
      message,
      source,
    }
    entry.count++
    if (entry.names.length < mostExamples) entry.names.push(document.id)
    found.set(key, entry)
  }
  const values = new Map<string, Set<unknown>>()
  const standard = new Set([
    'id',
    'owner',
    'creation',
    'modified',
    'modified_by',
    'docstatus',
    'amended_from',
    'workflow_state',
  ])
  const state = documents.platform.workflows.get(doctype.name)?.states
  for (const document of await collectionFor(documents, doctype).find()) {
    for (const field of doctype.fields.values()) {
      const value = document[field.name] ?? null
      if (field.name === 'workflow_state' && value !== null && !state?.has(value as string))
        tell(document, field, field.name, 'the workflow has no such state')
      else if (value !== null && field.name !== 'workflow_state') await checkValue(document, field, value)
      else if (field.required) tell(document, field, field.name, 'is required now, and has no value')
    }
    for (const name of Object.keys(document))
      if (!standard.has(name) && !doctype.fields.has(name) && document[name] !== null)
        tell(document, undefined, name, 'is no field any more; its values are kept but not shown')
    if (document.docstatus !== 0 && !doctype.submittable)
      tell(
        document,
        undefined,
        undefined,
        'is submitted or cancelled, and the doctype is not submittable any more',
      )
  }
  return [...found.values()].map(({ names, ...problem }) => ({
    doctype: doctype.name,
    examples: names,
    ...problem,
  }))

  async function checkValue(document: StoredDocument, field: Field, value: unknown): Promise<void> {
    if (field.type === 'table') {
      if (!Array.isArray(value)) tell(document, field, field.name, 'is a table now, and holds a value')
      return
    }
    const read =
      Array.isArray(value) && field.type !== 'json'
        ? { problem: 'is a value now, and holds rows' }
        : readValue(field, value)
    if ('problem' in read) tell(document, field, field.name, kindOf(read.problem))
    if (field.type === 'link') {
      const target = documents.platform.doctypes.get(field.doctype!)!
      if (!(await collectionFor(documents, target).get(value as string)))
        tell(document, field, field.name, `links to a ${target.name} that is not there`)
    }
    // As on saving: a cancelled document does not count.
    if (!field.unique || document.docstatus === 2) return
    const seen = values.get(field.name) ?? new Set()
    if (seen.has(value)) tell(document, field, field.name, 'is unique now, and this value is there twice')
    values.set(field.name, seen.add(value))
  }
}

/** The problem without the value, so that equal ones are counted together. */
function kindOf(problem: string): string {
  return problem.replace(/, not .*$/, '')
}
