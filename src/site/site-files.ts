/** What reading the site gives, before any folder makes sense of it: documents with positions, and faults. */

/** One thing wrong in the site, printed as `file:line:column path: message`. */
export interface Fault {
  /** Relative to the site, with `/`. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** The place inside the file, such as `roles[0].name`; empty for the file itself. */
  readonly path: string
  readonly message: string
}

/** A YAML document (or the front matter of a markdown file) that parsed, still knowing where everything stands. */
export interface SourceDocument {
  readonly file: string
  /** Plain JSON data. Dates stay text. */
  readonly data: unknown
  /** The markdown below the front matter; undefined for pure YAML. */
  readonly body?: string
  /** The line of the file on which the body begins. */
  readonly bodyLine?: number
  /** The whole file as it is on disk. */
  readonly bytes: Uint8Array
  /**
   * A fault at the place of a path inside the document: where the value begins (or the key, with
   * `at: 'key'`); for what is missing, where the map or list around it stands.
   */
  fault(path: readonly (string | number)[], message: string, at?: 'key' | 'value'): Fault
}

/** Everything below `config/`, `prompts/` and `skills/`, read at one moment. */
export interface SiteFiles {
  /** Absolute path of the site's folder. */
  readonly folder: string
  /** YAML and markdown files that parsed, by path relative to the site. */
  readonly documents: ReadonlyMap<string, SourceDocument>
  /** Every other file (skill assets, seeds) by path relative to the site, with its bytes. */
  readonly assets: ReadonlyMap<string, Uint8Array>
  /** Files that could not be read or parsed. */
  readonly faults: readonly Fault[]
  /** SHA-256 over every path and byte: equal digests, equal sites. */
  readonly digest: string
}

const grouped = new WeakMap<SiteFiles['documents'], Map<string, SourceDocument[]>>()

/** The documents below one folder of `config/`, such as `config/tools/`: a large library is not gone through for them. */
export function documentsIn({ documents }: SiteFiles, folder: string): readonly SourceDocument[] {
  let groups = grouped.get(documents)
  if (!groups) {
    grouped.set(documents, (groups = new Map()))
    for (const [file, document] of documents) {
      if (!file.startsWith('config/')) continue
      const name = file.slice(0, file.indexOf('/', 'config/'.length) + 1)
      const group = groups.get(name)
      if (group) group.push(document)
      else groups.set(name, [document])
    }
  }
  return groups.get(folder) ?? []
}

/** A fault as the operator reads it. */
export function faultText(fault: Fault): string {
  return `${fault.file}:${fault.line}:${fault.column} ${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`
}

/** A fault of a file as a whole, or of the site as a whole (`.`). */
export function fileFault(file: string, message: string): Fault {
  return { file, line: 1, column: 1, path: '', message }
}
