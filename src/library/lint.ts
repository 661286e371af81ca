/**
 * Names in prompts and skills that mean nothing here: a text that tells a model to call a tool that
 * does not exist costs every reader a failed call. Only what surely is meant as a name is looked at.
 */
import { nearest } from '../core/schema.ts'

/** The names that texts may use. */
export interface KnownNames {
  readonly tools: ReadonlySet<string>
  readonly doctypes: ReadonlySet<string>
}

/** A name that means nothing, and where it stands. */
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

/** The tool and doctype names of a text that do not exist. */
export function unknownNames(text: string, known: KnownNames, own: ReadonlySet<string>): UnknownName[] {
  const found: UnknownName[] = []
  for (const match of text.matchAll(quoted)) {
    const [whole, name, call] = match as unknown as [string, string, string | undefined]
    if (known.tools.has(name) || own.has(name)) continue
    const before = text.slice(Math.max(0, match.index - 30), match.index)
    const after = text.slice(match.index + whole.length, match.index + whole.length + 10)
    const near = nearest(name, known.tools)
    if (
      call !== undefined ||
      toolAfter.test(after) ||
      (toolBefore.test(before) && looksLikeTool(name)) ||
      near !== undefined
    ) {
      found.push({ message: `there is no tool "${name}"${didYouMean(near)}`, offset: match.index + 1 })
    }
  }
  for (const match of text.matchAll(doctype)) {
    const name = match[1] ?? match[2] ?? match[3]!
    if (known.doctypes.has(name)) continue
    const near = nearest(name, known.doctypes)
    found.push({
      message: `there is no doctype "${name}"${didYouMean(near)}`,
      offset: match.index + match[0].indexOf(name),
    })
  }
  return found.sort((a, b) => a.offset - b.offset)
}

/** Tools begin with what they do; fields such as `order_date` do not. */
function looksLikeTool(name: string): boolean {
  return /^(list|get|create|update|delete|search|run|generate|submit|query|execute|analy[sz]e|count|aggregate|extract|fetch|find|report|export|import|read|write)_/.test(
    name,
  )
}

function didYouMean(name: string | undefined): string {
  return name === undefined ? '' : `; did you mean "${name}"?`
}
