/** Renders events for people: one line each, in which nothing that a caller sent can move the cursor or hide. */
import { pictured } from '#leaf/pictured.ts'
import type { AuditLine } from '../audit.ts'

const colours = { ok: 32, waiting: 33, error: 31, denied: 33, timeout: 33, cancelled: 33 } as const

/** Options for rendering events. */
export interface Rendering {
  readonly colour?: boolean
  /** The length at which lines are cut; 80 when absent. */
  readonly width?: number
  /** The names of clients by their ids. */
  readonly clients?: ReadonlyMap<string, string>
}

/** Renders an event in one line that fits a terminal; `showEvent` has the rest. */
export function renderLine(line: AuditLine, { colour, width = 80, clients }: Rendering = {}): string {
  const begin = `${pictured(line.time).slice(0, 16).replace('T', ' ')} #${line.seq} `
  const status = line.status === 'ok' ? '' : pictured(line.status)
  const rest = [
    pictured(line.user ?? '-'),
    pictured(line.type),
    line.target === undefined ? '' : pictured(line.target),
    line.client === undefined ? '' : `via ${pictured(clients?.get(line.client) ?? line.client)}`,
    line.error === undefined ? '' : `– ${pictured(line.error)}`,
  ]
  const end = shortened([status, ...rest].filter((part) => part !== '').join(' '), width - begin.length)
  const code = colour ? colours[line.status] : undefined
  if (code === undefined || status === '') return begin + end
  return `${begin}\u001b[${code}m${status}\u001b[0m${end.slice(status.length)}`
}

/** Renders a whole event, a line for each thing that is known of it. */
export function showEvent(line: AuditLine, { clients }: Rendering = {}): string {
  const { changes, documents, ...rest } = line
  const rows = Object.entries(rest).map(([key, value]) => {
    const name = key === 'client' ? clients?.get(value as string) : undefined
    return [key, `${shownValue(value)}${name === undefined ? '' : ` (${pictured(name)})`}`]
  })
  for (const { doctype, names, count } of documents ?? []) {
    const more = count > names.length ? ` and ${count - names.length} more` : ''
    rows.push(['shown', `${pictured(doctype)}: ${names.map(pictured).join(', ')}${more}`])
  }
  for (const change of changeLines(changes)) rows.push(['changed', change])
  return rows.map(([key = '', value]) => `${pictured(key).padEnd(15)} ${value}`).join('\n')
}

/** Renders the changes of fields, a line each. */
export function changeLines(changes: AuditLine['changes']): readonly string[] {
  return (changes ?? []).map(
    ({ field, from, to }) => `${pictured(field)}: ${shownValue(from)} → ${shownValue(to)}`,
  )
}

function shownValue(value: unknown): string {
  return pictured(typeof value === 'string' ? value : JSON.stringify(value))
}

function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, Math.max(0, length - 1))}…` : text
}
