/** A mistake in a format string, and its place. */
export interface FormatFault {
  readonly message: string
  /** Characters from the start of the text. */
  readonly offset: number
}

/** A parsed format string: texts and the names between them. */
export interface FormatString {
  readonly parts: readonly ({ readonly text: string } | { readonly name: string })[]
  readonly names: ReadonlySet<string>
  readonly faults: readonly FormatFault[]
}

/**
 * Parses a `Format String` template (specification §4.5, prompts rule 3): `{name}` and nothing else,
 * with `{{` and `}}` for the braces themselves. Attributes, indexes and formats are refused, as they would
 * reach into the values.
 */
export function parseFormatString(source: string): FormatString {
  const parts: ({ text: string } | { name: string })[] = []
  const names = new Set<string>()
  const faults: FormatFault[] = []
  const token = /\{\{|\}\}|\{[^{}]*\}|[{}]/g
  let end = 0
  for (let match = token.exec(source); match; match = token.exec(source)) {
    if (match.index > end) parts.push({ text: source.slice(end, match.index) })
    end = token.lastIndex
    const [found] = match
    const name = found.slice(1, -1)
    if (found === '{{' || found === '}}') parts.push({ text: found[0]! })
    else if (/^[A-Za-z_]\w*$/.test(name)) {
      parts.push({ name })
      names.add(name)
    } else faults.push({ message: faultOf(found), offset: match.index })
  }
  if (end < source.length) parts.push({ text: source.slice(end) })
  return { parts, names, faults }
}

function faultOf(found: string): string {
  if (found.length === 1) return `a single "${found}"; write "${found}${found}" for the brace itself`
  return `"${found}" is not a plain name; write "{{" and "}}" for the braces themselves`
}
