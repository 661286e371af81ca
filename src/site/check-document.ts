import { unknownKeyText, type Check } from '../core/schema.ts'
import { fileFault, type Fault, type SiteFiles, type SourceDocument } from './site-files.ts'

/**
 * Checks a document against a schema and reports each problem at its place: an unknown key at the
 * key, a missing one at the map around it. Answers a copy of the data (so that the schema's defaults
 * do not change what was read), or undefined when there was any problem.
 */
export function checkDocument<T>(document: SourceDocument, check: Check, faults: Fault[]): T | undefined {
  if (document.data === null && document.body !== undefined) {
    faults.push(document.fault([], 'must begin with front matter: a line "---", YAML, and a line "---"'))
    return undefined
  }
  const data = structuredClone(document.data)
  const problems = check(data)
  for (const { path, message } of problems) {
    faults.push(document.fault(path, message, message.startsWith(unknownKeyText) ? 'key' : 'value'))
  }
  return problems.length === 0 ? (data as T) : undefined
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
