/** Shared by the readers of doctypes: their context, and the wording of faults. */
import { unknownName } from '#leaf/names.ts'
import type { Fault, SiteFiles, SourceDocument } from '#site/site-files.ts'
import type { People } from '../../users/people.ts'
import type { DoctypeSource } from './doctype-schema.ts'
import { type Expression, parseExpression } from '#state/questions.ts'
import type { Field } from './platform.ts'
import { standardFields } from './standard-fields.ts'

/** The context for checking one file: the list of faults, and the names that may be used. */
export interface Reading {
  readonly document: SourceDocument
  readonly faults: Fault[]
  /** Settings that work, but not as well as the author may think. */
  readonly warnings: Fault[]
  readonly people: People
  /** The declarations of the whole site, before any of them is checked. */
  readonly sources: ReadonlyMap<string, DoctypeSource>
  /** Returns the file of a doctype; of the one that is read, without a name. */
  readonly fileOf: (doctype: string) => string
}

/** Returns `file:line` of a place in a document. */
export function sourceOf(document: SourceDocument, path: readonly (string | number)[]): string {
  const { file, line } = document.fault(path, '')
  return `${file}:${line}`
}

/** Reads an expression in a doctype's file, all of whose fields must exist; undefined, with a fault, when it is wrong. */
export function readExpression(
  text: string,
  path: readonly (string | number)[],
  source: DoctypeSource,
  reading: Reading,
): Expression | undefined {
  return expressionAt(text, path, reading, (field) => unknownPath(field, source, reading.sources))
}

/** Reads an expression whose fields `problemOf` must accept; undefined, with a fault, when it is wrong. */
export function expressionAt(
  text: string,
  path: readonly (string | number)[],
  { document, faults }: Pick<Reading, 'document' | 'faults'>,
  problemOf: (field: string) => string | undefined,
): Expression | undefined {
  try {
    const expression = parseExpression(text)
    const problem = expression.fields.map(problemOf).find(Boolean)
    if (problem === undefined) return expression
    faults.push(document.fault(path, problem))
  } catch (error) {
    faults.push(document.fault(path, (error as Error).message))
  }
  return undefined
}

/** Makes a field that documents have without their doctype declaring it, and that nobody sets. */
export function ownField(
  field: Pick<Field, 'name' | 'label' | 'type' | 'description' | 'source'> & Partial<Field>,
): Field {
  const flags = { required: false, unique: false, readOnly: true, allowOnSubmit: false, indexed: true }
  return { ...flags, options: [], level: 0, ...field }
}

function unknownPath(
  path: string,
  source: DoctypeSource,
  sources: ReadonlyMap<string, DoctypeSource>,
): string | undefined {
  const [name, column] = path.split('.') as [string, string | undefined]
  const field = source.fields.find(({ fieldname }) => fieldname === name)
  if (!field && column === undefined && (standardFields.has(name) || name === 'workflow_state')) {
    const { from } = source
    if (!from || name === 'name' || Object.hasOwn(from.standard ?? {}, name)) return undefined
    return `its table shows no ${name}: name the column in from.standard`
  }
  if (!field)
    return unknownName(
      'field',
      name,
      source.fields.map(({ fieldname }) => fieldname),
    )
  if (column === undefined) return undefined
  const rows = sources.get(field.doctype ?? '')?.fields.map(({ fieldname }) => fieldname)
  if (field.type !== 'table' || !rows) return `${name} has no rows`
  return rows.includes(column) ? undefined : unknownName('field', path, rows)
}

/** Returns the file of a doctype that is missing because that file has a fault. */
export function brokenDoctypeFile(
  name: string,
  faults: readonly Fault[],
  files: SiteFiles,
  doctypes: ReadonlyMap<string, unknown>,
): string | undefined {
  if (doctypes.has(name)) return undefined
  // A file that is not even YAML reveals its doctype by its own name only.
  const own = `config/doctypes/${name.toLowerCase().replaceAll(' ', '-')}.yaml`
  const called = (file: string): boolean =>
    (files.documents.get(file)?.data as { doctype?: unknown } | undefined)?.doctype === name
  return faults.find(({ file }) => file.startsWith('config/doctypes/') && (file === own || called(file)))
    ?.file
}
