/** Events for people: one line each, in which nothing that a caller sent can move the cursor or hide. */
import type { AuditLine } from './event.ts'

const hidden =
  /[\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\u{e0000}|[\u{e0001}-\u{e007f}]|[\ud800-\udfff]/gu
const colours = { ok: 32, error: 31, denied: 33, timeout: 33, cancelled: 33 } as const
const dataLength = 400

/** A text whose control characters are shown as pictures and whose invisible characters as `⟨U+202E⟩`. */
export function visible(text: string): string {
  return text
    .replace(/[\u0000-\u001f\u007f]/g, (character) =>
      character === '\u007f' ? '\u2421' : String.fromCharCode(0x2400 + character.charCodeAt(0)),
    )
    .replace(hidden, (character) => {
      return `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`
    })
}

/** An event in one line. */
export function renderLine(line: AuditLine, options: { readonly colour?: boolean } = {}): string {
  const colour = options.colour ? colours[line.status] : undefined
  const status = line.status.padEnd(7)
  const time = line.execution_time
  const parts = [
    line.time.replace('T', ' '),
    colour === undefined ? visible(status) : `\u001b[${colour}m${visible(status)}\u001b[0m`,
    visible(line.type).padEnd(18),
    visible(line.user ?? '-'),
    line.target === undefined ? '' : visible(line.target),
    time === undefined ? '' : time < 1 ? `${Math.round(time * 1000)} ms` : `${time.toFixed(2)} s`,
    field('client', line.client),
    field('session', line.session_id),
    field('request', line.request_id),
    field('trace', line.trace_id),
    field('from', line.address),
    field('error', line.error),
    line.data === undefined ? '' : shortened(visible(JSON.stringify(line.data))),
  ]
  return parts
    .filter((part) => part !== '')
    .join('  ')
    .trimEnd()
}

function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : `${name}=${visible(value)}`
}

function shortened(text: string): string {
  return text.length > dataLength ? `${text.slice(0, dataLength)}…` : text
}
