/**
 * Finds names, in texts for models, that do not exist here or not for a reader: a text that sends a model to a
 * tool that it is refused costs a failed call each time. Only what is surely meant as a name is checked.
 */
import { didYouMean } from '#leaf/names.ts'
import { type Place, placeIn } from '#leaf/places.ts'

/** The names that exist. */
export interface KnownNames {
  readonly tools: ReadonlySet<string>
  readonly doctypes: ReadonlySet<string>
}

/** People with the same roles, with the tools and doctypes that they have. */
export interface Readers {
  readonly users: readonly string[]
  readonly roles: ReadonlySet<string>
  readonly tools: ReadonlySet<string>
  readonly doctypes: ReadonlySet<string>
}

/** A name that does not exist, or not for some readers, and its place. */
export interface UnknownName {
  readonly message: string
  /** Characters from the start of the text. */
  readonly offset: number
}

const quoted = /`([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(\([^`]*\))?`/g
const toolBefore = /\b(?:tools?|call|calls|calling|use|using|run|with|try|prefer|then)[ :]+(?:the )?$/i
const toolAfter = /^ (?:tool|call)s?\b/i
const doctype =
  /\bdoctypes?["']?\s*[:=]\s*["']([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*)["']|\b[Dd]octypes? ["`]([A-Z][A-Za-z ]*)["`]|["`]([A-Z][A-Za-z ]*)["`] doctypes?\b/g

/** Returns the tool and doctype names of a text that do not exist, and the first of each that some of its readers lack. */
export function unknownNames(
  text: string,
  known: KnownNames,
  own: ReadonlySet<string>,
  readers: readonly Readers[],
): UnknownName[] {
  const found: UnknownName[] = []
  for (const { name, offset } of toolsNamed(text, known.tools, own)) {
    const message = notOffered(name, readers)
    if (message !== undefined) found.push({ message, offset })
  }
  for (const match of text.matchAll(quoted)) {
    const [whole, name, call] = match as unknown as [string, string, string | undefined]
    if (known.tools.has(name) || own.has(name)) continue
    const before = text.slice(Math.max(0, match.index - 30), match.index)
    const after = text.slice(match.index + whole.length, match.index + whole.length + 10)
    const hint = didYouMean(name, known.tools)
    if (
      call !== undefined ||
      toolAfter.test(after) ||
      (toolBefore.test(before) && looksLikeTool(name)) ||
      hint !== ''
    ) {
      found.push({ message: `there is no tool "${name}"${hint}`, offset: match.index + 1 })
    }
  }
  for (const match of text.matchAll(doctype)) {
    const name = match[1] ?? match[2] ?? match[3]!
    const offset = match.index + match[0].indexOf(name)
    if (known.doctypes.has(name)) {
      const without = readers.filter(({ doctypes }) => !doctypes.has(name))
      const message = `the doctype "${name}" is not open to ${counted(without, readers)}`
      if (without.length > 0 && !found.some((one) => one.message === message)) found.push({ message, offset })
      continue
    }
    found.push({ message: `there is no doctype "${name}"${didYouMean(name, known.doctypes)}`, offset })
  }
  return found.sort((a, b) => a.offset - b.offset)
}

/** Returns the warning about a tool that some readers are not offered; undefined when all are. */
export function notOffered(tool: string, readers: readonly Readers[]): string | undefined {
  const without = readers.filter(({ tools }) => !tools.has(tool))
  return without.length === 0
    ? undefined
    : `the tool "${tool}" is not offered to ${counted(without, readers)}`
}

/** Finds the first place of each tool that a text names, in backticks or as a plain word with an underscore. */
function toolsNamed(
  text: string,
  tools: ReadonlySet<string>,
  own: ReadonlySet<string>,
): { name: string; offset: number }[] {
  const places = new Map<string, number>()
  for (const match of text.matchAll(toolName)) {
    const name = match[1] ?? match[2]!
    if (tools.has(name) && !own.has(name) && !places.has(name))
      places.set(name, match.index + match[0].indexOf(name))
  }
  return [...places].map(([name, offset]) => ({ name, offset }))
}

/** True when a text names one of the tools. */
export function namesAny(text: string, tools: ReadonlySet<string>): boolean {
  return toolsNamed(text, tools, new Set()).length > 0
}

const toolName = /`([a-z][a-z0-9_]*)[`(]|\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b/g

/**
 * Removes from a shipped text what sends its reader to a tool that the reader lacks: the row of a table, the
 * entry of a list, or the sentence. A site's own texts are left to their authors, who are warned instead.
 */
export function fitted(text: string, lacks: ReadonlySet<string>): string {
  if (!namesAny(text, lacks)) return text
  const namesLacking = (part: string): boolean => namesAny(part, lacks)
  let inCode = false
  const kept = text.split('\n').flatMap((line) => {
    if (line.startsWith('```')) inCode = !inCode
    if (inCode || !namesLacking(line)) return [line]
    const [, mark = '', rest = ''] = /^(\s*(?:[-*|]|\d+\.)\s+)?(.*)$/.exec(line)!
    const sentences = mark.startsWith('|') ? [] : rest.split(/(?<=[.:;])\s+/)
    const left = sentences.filter((sentence) => !namesLacking(sentence))
    return left.length === 0 ? [] : [mark + left.join(' ')]
  })
  return kept.join('\n').replaceAll(/\n{3,}/g, '\n\n')
}

function counted(without: readonly Readers[], readers: readonly Readers[]): string {
  const people = (groups: readonly Readers[]): string[] => groups.flatMap(({ users }) => users)
  const missing = people(without).sort()
  const example = missing.length === 1 ? missing[0]! : `${missing.length}, such as ${missing[0]!}`
  return `${example} (of ${people(readers).length} who read this)`
}

/** True for names that begin with a verb, as tools do; fields such as `order_date` do not. */
function looksLikeTool(name: string): boolean {
  return /^(list|get|create|update|delete|search|run|generate|submit|query|execute|analy[sz]e|count|aggregate|extract|fetch|find|report|export|import|read|write)_/.test(
    name,
  )
}

/** Returns the place of the first use of a variable in the content of a template. */
export function placeOfVariable(text: string, name: string): Place {
  const use = new RegExp(`(?<![.\\w"'])${name}\\b`)
  for (const { 0: tag, index } of text.matchAll(/\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}|\{[^{}]*\}/g)) {
    const inside = use.exec(tag)
    if (inside) return placeIn(text, index + inside.index)
  }
  return { line: 1, column: 1 }
}
