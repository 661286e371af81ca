import { unknownName } from '#leaf/names.ts'
import { referencesIn } from '#leaf/references.ts'
import { unknownKeyText, type Check } from '#leaf/schema.ts'
import { fileFault, type Fault, type SiteFiles, type SourceDocument } from './site-files.ts'

/**
 * Checks a document against a schema and reports each problem at its place: an unknown key at the
 * key, a missing one at the map around it. Returns a copy of the data (so that the schema's defaults
 * do not change what was read), or undefined when there was any problem.
 */
export function checkDocument<T>(document: SourceDocument, check: Check, faults: Fault[]): T | undefined {
  const before = faults.length
  const part = checkInPart<T>(document, check, faults)
  return faults.length > before ? undefined : (part as T)
}

/**
 * Checks a document like `checkDocument`, but returns the data without the keys that have a problem,
 * so that the rest can be read and its faults reported in the same round.
 */
export function checkInPart<T>(
  document: SourceDocument,
  check: Check,
  faults: Fault[],
): Partial<T> | undefined {
  if (document.data === null) {
    const isMarkdown = document.body !== undefined
    faults.push(
      document.fault(
        [],
        isMarkdown ? 'must begin with front matter: a line "---", YAML, and a line "---"' : 'is empty',
      ),
    )
    return undefined
  }
  const data = structuredClone(document.data)
  for (const { path, message } of check(data)) {
    faults.push(document.fault(path, message, message.startsWith(unknownKeyText) ? 'key' : 'value'))
    if (path.length > 0) Reflect.deleteProperty(data as object, path[0]!)
  }
  return typeof data === 'object' ? data : undefined
}

/** Returns a document that a site requires; reports a fault unless the document is there or has a fault already. */
export function requiredDocument(
  files: SiteFiles,
  file: string,
  faults: Fault[],
): SourceDocument | undefined {
  const document = files.documents.get(file)
  // A site that cannot be read at all has one fault, not one a file.
  if (!document && !files.faults.some((fault) => fault.file === file || fault.file === '.')) {
    faults.push(fileFault(file, 'there is no such file'))
  }
  return document
}

/** A set of known names, such as the keys of a map. */
export interface NameSet {
  has(name: string): boolean
  keys(): Iterable<string>
}

/** Reports each name in a document, or a part of it, that does not exist; `names` holds the known names by kind. */
export function checkReferences(
  document: SourceDocument,
  schema: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, NameSet | undefined>>,
  faults: Fault[],
  part: { readonly path: readonly (string | number)[]; readonly value: unknown } = {
    path: [],
    value: document.data,
  },
): void {
  for (const { kind, name, path, at } of referencesIn(schema, part.value, part.path)) {
    const known = names[kind]
    if (known && !known.has(name))
      faults.push(document.fault(path, unknownName(kind, name, known.keys()), at))
  }
}
