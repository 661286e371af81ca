/**
 * Parses one file of the site from bytes to plain data that still knows the place of everything. YAML is
 * YAML 1.2 with the core schema: dates stay text, no tags, no merge keys, text keys, each key once.
 */
import { isUtf8 } from 'node:buffer'
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type ParsedNode,
  parseDocument,
} from 'yaml'
import { messageOf } from '#leaf/errors.ts'
import { pathText } from '#leaf/schema.ts'
import type { Fault, SourceDocument } from './site-files.ts'
import { isTooDeep } from './yaml-depth.ts'

/** The result of parsing one file: a document, or the reasons why there is none. */
export interface ParsedSource {
  readonly document?: SourceDocument
  readonly faults: readonly Fault[]
}

type Path = readonly (string | number)[]
type Place = { readonly line: number; readonly column: number }
type Yaml = { readonly document: Document.Parsed; readonly lines: LineCounter }

const maxDepth = 100
const maxAliases = 100
// One missing quote can confuse the parser for the rest of the file.
const maxFaultsPerFile = 20

let ahead: ParsedSource = { faults: [] }

/** Parses the one file that is read before the rest of its site, and keeps what came of it for whoever reads the same bytes again. */
export function parseAhead(file: string, bytes: Uint8Array): ParsedSource {
  return (ahead = parseSource(file, bytes))
}

/** Parses a YAML file, or a markdown file with or without front matter (`data` is null without). */
export function parseSource(file: string, bytes: Uint8Array): ParsedSource {
  const { document: known } = ahead
  if (known?.file === file && Buffer.compare(known.bytes, bytes) === 0) return ahead
  if (isUtf16(bytes))
    return { faults: [faultOf(file, { line: 1, column: 1 }, 'is UTF-16 text; save it as UTF-8')] }
  if (!isUtf8(bytes)) return { faults: [faultOf(file, firstInvalidLine(bytes), 'is not UTF-8 text')] }
  // TextDecoder drops a byte order mark.
  const text = new TextDecoder().decode(bytes)
  const conflict = /^<{7} [^\n]*\n(?:[^]*?\n)?={7}\r?\n(?:[^]*?\n)?>{7} /m.exec(text)
  if (conflict) {
    const line = text.slice(0, conflict.index).split('\n').length
    const message = 'two versions stand here since a merge in git; keep what is right, without the markers'
    return { faults: [faultOf(file, { line, column: 1 }, message)] }
  }
  if (!file.endsWith('.md')) return parseParts(file, bytes, { yaml: text, skipped: 0 })

  const opening = /^---[ \t]*\r?\n/.exec(text)
  if (!opening)
    return parseParts(file, bytes, { yaml: '', skipped: 0, body: withoutReturns(text), bodyLine: 1 })
  const rest = text.slice(opening[0].length)
  const closing = /^---[ \t]*(?:\r?\n|$)/m.exec(rest)
  if (!closing) {
    return { faults: [faultOf(file, { line: 1, column: 1 }, 'the front matter is not closed by "---"')] }
  }
  const body = withoutReturns(rest.slice(closing.index + closing[0].length))
  const yaml = rest.slice(0, closing.index)
  return parseParts(file, bytes, { yaml, skipped: 1, body, bodyLine: yaml.split('\n').length + 2 })
}

interface Parts {
  readonly yaml: string
  /** The number of lines of the file before the YAML. */
  readonly skipped: number
  readonly body?: string
  readonly bodyLine?: number
}

function parseParts(file: string, bytes: Uint8Array, parts: Parts): ParsedSource {
  const start = { line: 1 + parts.skipped, column: 1 }
  const tooDeep = `is nested more than ${maxDepth} levels deep`
  if (isTooDeep(parts.yaml, maxDepth)) return { faults: [faultOf(file, start, tooDeep)] }
  let yaml: Yaml
  let data: unknown
  try {
    yaml = parseYaml(parts.yaml)
    const faults = faultsOf(file, yaml, parts.skipped)
    if (faults.length > 0) return { faults: faults.slice(0, maxFaultsPerFile) }
    data = yaml.document.toJS({ maxAliasCount: maxAliases }) as unknown
  } catch (error) {
    if (error instanceof RangeError) return { faults: [faultOf(file, start, tooDeep)] }
    // The only other cause of an exception is the expansion of aliases.
    return { faults: [faultOf(file, start, lowerCase(messageOf(error)))] }
  }

  // Most documents never have a fault: the text is parsed again when a position is needed, instead of
  // keeping a syntax tree for each file. A WeakRef lives at least as long as the loop that asks.
  let tree = new WeakRef(yaml)
  const place = (path: Path, at: 'key' | 'value'): Place => {
    let found = tree.deref()
    if (!found) tree = new WeakRef((found = parseYaml(parts.yaml)))
    return shifted(placeOf(found, path, at), parts.skipped)
  }
  const document: SourceDocument = {
    file,
    data,
    bytes,
    ...(parts.body !== undefined && { body: parts.body, bodyLine: parts.bodyLine ?? 1 }),
    fault: (path, message, at = 'value') => ({ file, ...place(path, at), path: pathText(path), message }),
  }
  return { document, faults: [] }
}

function parseYaml(text: string): Yaml {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    merge: false,
    // The parser would compare every key with every other; `faultsOf` does it in one pass.
    uniqueKeys: false,
    stringKeys: true,
    prettyErrors: false,
    logLevel: 'error',
  })
  return { document, lines }
}

/** Errors that the parser reports and can go on after. */
const independent = new Set<string>([
  'NON_STRING_KEY',
  'TAG_RESOLVE_FAILED',
  'MULTIPLE_DOCS',
  'BAD_DIRECTIVE',
  'BAD_ALIAS',
])

/** Returns the faults that the parser found, and those that it accepts but the site does not. */
function faultsOf(file: string, { document, lines }: Yaml, skipped: number): Fault[] {
  const faults: Fault[] = []
  const report = (offset: number, message: string): void => {
    const { line, col } = lines.linePos(offset)
    faults.push(faultOf(file, { line: line + skipped, column: col }, message))
  }
  // A warning is an unknown tag or directive: the data would not be what its author means.
  const found = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0])
  const lost = found.findIndex(({ code }) => !independent.has(code))
  for (const error of lost < 0 ? found : found.slice(0, lost + 1)) report(error.pos[0], explain(error))
  // After the place where the parser lost its way, everything is a guess.
  if (lost >= 0) return faults
  if (document.directives.docStart && document.directives.yaml.explicit) {
    report(0, 'directives are not read; remove the line that begins with "%"')
  }

  let aliases = 0
  const walk = (node: ParsedNode | null, depth: number): void => {
    if (node === null) return
    if (depth > maxDepth) return report(node.range[0], `is nested more than ${maxDepth} levels deep`)
    if (isAlias(node)) {
      if (++aliases > maxAliases) {
        if (aliases === maxAliases + 1) report(node.range[0], `more than ${maxAliases} aliases`)
      } else if (!node.resolve(document)) {
        report(node.range[0], `"*${node.source}" names no anchor above it`)
      }
    } else if (isMap(node)) {
      const keys = new Set<string>()
      for (const pair of node.items) {
        const key = isScalar(pair.key) ? String(pair.key.value) : ''
        if (key === '__proto__') report(pair.key.range[0], '"__proto__" is not a key')
        else if (keys.has(key)) report(pair.key.range[0], `"${key}" is given twice in the same map`)
        keys.add(key)
        walk(pair.value, depth + 1)
      }
    } else if (isSeq(node)) {
      for (const item of node.items) walk(item, depth + 1)
    } else {
      const problem = numberProblem(node.value)
      if (problem) report(node.range[0], problem)
    }
  }
  walk(document.contents, 0)
  return faults.sort((a, b) => a.line - b.line || a.column - b.column)
}

function numberProblem(value: unknown): string | undefined {
  if (typeof value !== 'number') return undefined
  if (!Number.isFinite(value)) return 'is not a number that JSON can write'
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return 'has too many digits for a number; put it in quotes to keep it as text'
  return undefined
}

function explain(error: { code: string; message: string }): string {
  switch (error.code) {
    case 'BLOCK_AS_IMPLICIT_KEY':
      return 'the indentation is wrong, or a text that holds ": " lacks quotes'
    case 'MULTILINE_IMPLICIT_KEY':
      return 'a key ends with ":" in its own line'
    case 'TAB_AS_INDENT':
      return 'tabs are not allowed as indentation; use spaces'
    case 'TAG_RESOLVE_FAILED':
      return 'tags are not read; write plain values'
    case 'MULTIPLE_DOCS':
      return 'a file holds one YAML document; remove the second "---"'
    case 'NON_STRING_KEY':
      return 'a key must be text'
    default:
      return error.message.startsWith('Sequence item without')
        ? 'the indentation is wrong: this line belongs neither to the item above nor beside it'
        : lowerCase(error.message)
  }
}

/**
 * Returns the place of a path: for an entry of a map, its value when that is on the line of its key,
 * else the key; for an item of a list, its beginning. For a missing item, it is the place of the parent.
 */
function placeOf({ document, lines }: Yaml, path: Path, at: 'key' | 'value'): Place {
  const at0 = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  let node: Node | null | undefined = document.contents
  let place = at0(node?.range?.[0] ?? 0)
  for (const [index, key] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document)
    if (isSeq(node)) {
      const item: unknown = node.items[Number(key)]
      if (!isNode(item)) return place
      node = item
      place = at0(item.range?.[0] ?? 0)
    } else if (isMap(node)) {
      const pair: Pair | undefined = node.items.find(
        (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key),
      )
      if (!pair || !isScalar(pair.key)) return place
      const keyPlace = at0(pair.key.range?.[0] ?? 0)
      const value: Node | null = isNode(pair.value) ? pair.value : null
      const [begin, end] = value?.range ?? [0, 0]
      const valuePlace = begin === end ? keyPlace : at0(begin)
      const ofKey = (at === 'key' && index === path.length - 1) || valuePlace.line !== keyPlace.line
      place = ofKey ? keyPlace : valuePlace
      node = value
    } else {
      return place
    }
  }
  return place
}

function isNode(value: unknown): value is Node {
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value)
}

function shifted(place: Place, lines: number): Place {
  return { line: place.line + lines, column: place.column }
}

/** True for text that an editor saved as "Unicode": with a byte order mark, or with a zero byte beside every letter. */
function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true
  return bytes.length > 3 && bytes.subarray(0, 64).filter((byte) => byte === 0).length > 16
}

function firstInvalidLine(bytes: Uint8Array): Place {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(10, start)
    const stop = end === -1 ? bytes.length : end + 1
    if (!isUtf8(bytes.subarray(start, stop))) break
    start = stop
  }
  return { line, column: 1 }
}

function faultOf(file: string, place: Place, message: string): Fault {
  return { file, ...place, path: '', message }
}

function withoutReturns(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

function lowerCase(message: string): string {
  const text = message.replace(/[.:]\s*$/, '')
  return text.charAt(0).toLowerCase() + text.slice(1)
}
