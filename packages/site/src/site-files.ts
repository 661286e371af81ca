/** The result of reading the site, before any folder interprets it: documents with positions, and faults. */

/** A fault of the site, printed as `file:line:column path: message`. */
export interface Fault {
  /** Relative to the site, with `/`. */
  readonly file: string
  readonly line: number
  readonly column: number
  /** The place inside the file, such as `roles[0].name`; empty for the file itself. */
  readonly path: string
  readonly message: string
  /** True when it is a failed test of a prompt's own. */
  readonly isTest?: true
}

/** A parsed YAML document (or the front matter of a markdown file) that still knows the place of everything. */
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
   * Makes a fault at the place of a path inside the document: where the value begins (or the key, with
   * `at: 'key'`); for something missing, where the map or list around it stands.
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
  /** SHA-256 over every path and byte: equal digests mean equal sites. */
  readonly digest: string
}

const grouped = new WeakMap<SiteFiles['documents'], Map<string, SourceDocument[]>>()

/** Returns the documents below one folder of `config/`, such as `config/tools/`, without searching a large library. */
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

/** Returns a fault as the operator reads it. */
export function faultText(fault: Fault): string {
  return `${fault.file}:${fault.line}:${fault.column} ${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`
}

/** Makes a fault of a file as a whole, or of the site as a whole (`.`). */
export function fileFault(file: string, message: string): Fault {
  return { file, line: 1, column: 1, path: '', message }
}
