import { unknownName } from '../core/names.ts'
import { unknownKeyText, type Check } from '../core/schema.ts'
import { fileFault, type Fault, type SiteFiles, type SourceDocument } from './site-files.ts'

/**
 * Checks a document against a schema and reports each problem at its place: an unknown key at the
 * key, a missing one at the map around it. Answers a copy of the data (so that the schema's defaults
 * do not change what was read), or undefined when there was any problem.
 */
export function checkDocument<T>(document: SourceDocument, check: Check, faults: Fault[]): T | undefined {
  const before = faults.length
  const part = checkInPart<T>(document, check, faults)
  return faults.length > before ? undefined : (part as T)
}

/**
 * Checks a document like `checkDocument`, and answers what is left of it without the keys that have a
 * problem, so that the rest can be read and its faults told in the same round.
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

/** The document that a site cannot do without; a fault unless it is there or has a fault already. */
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

/** The names there are, such as the keys of a map. */
export interface NameSet {
  has(name: string): boolean
  keys(): Iterable<string>
}

/** Tells each name of a list at `path` that is not among those there are. */
export function checkNames(
  document: SourceDocument,
  path: readonly (string | number)[],
  kind: string,
  names: readonly string[] | undefined,
  known: NameSet,
  faults: Fault[],
): void {
  for (const [index, name] of (names ?? []).entries())
    if (!known.has(name)) faults.push(document.fault([...path, index], unknownName(kind, name, known.keys())))
}
