import type { IncomingMessage } from 'node:http'

/** Says of a request that it wants fewer tools than it might have. It never adds any; who sends none wants all. */
export interface Narrowing {
  /** Lists of names, `'*'` at the end for any ending; a tool must be in each of them. */
  readonly only: readonly (readonly string[])[]
  readonly without: readonly string[]
  readonly readOnly: boolean
}

/** The parameters of an address that say so. */
export const narrowingParameters: ReadonlySet<string> = new Set(['tools', 'exclude_tools', 'read_only'])

const headerNames = ['X-MCP-Tools', 'X-MCP-Exclude-Tools', 'X-MCP-Readonly'].map((name) => name.toLowerCase())

const mostNames = 200

/**
 * Reads what a request says in its address (`?tools=`, `?exclude_tools=`, `?read_only=`) and headers (`X-MCP-Tools`,
 * `X-MCP-Exclude-Tools`, `X-MCP-Readonly`), all of which hold. A text says what is wrong: ignored, it would give more than asked.
 */
export function readNarrowing({ url = '', headers }: IncomingMessage): Narrowing | string | undefined {
  const at = url.indexOf('?')
  if (at < 0 && headerNames.every((name) => headers[name] === undefined)) return undefined
  const query = at < 0 ? undefined : new URLSearchParams(url.slice(at + 1))
  const said = (parameter: string, header: string): readonly (readonly [place: string, text: string])[] => {
    const sent = headers[header.toLowerCase()]
    return [
      ...(query?.getAll(parameter) ?? []).map((text) => [`?${parameter}`, text] as const),
      ...(typeof sent === 'string' ? [[header, sent] as const] : []),
    ]
  }
  const tools = said('tools', 'X-MCP-Tools')
  const excluded = said('exclude_tools', 'X-MCP-Exclude-Tools')
  const reading = said('read_only', 'X-MCP-Readonly')
  if (tools.length + excluded.length + reading.length === 0) return undefined
  const named = [...tools, ...excluded].map(([place, text]) => [place, text, namesIn(text)] as const)
  for (const [place, text, names] of named)
    if (
      names.length === 0 ||
      names.length > mostNames ||
      !names.every((name) => /^[\w-]{0,64}\*?$/.test(name))
    )
      return `${place} must be names of tools with commas between them, such as list_documents,get_*, not ${JSON.stringify(text.slice(0, 100))}`
  for (const [place, text] of reading)
    if (text !== 'true' && text !== 'false')
      return `${place} must be true or false, not ${JSON.stringify(text.slice(0, 100))}`
  const lists = named.map(([, , names]) => names)
  return {
    only: lists.slice(0, tools.length),
    without: lists.slice(tools.length).flat(),
    readOnly: reading.some(([, text]) => text === 'true'),
  }
}

function namesIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
