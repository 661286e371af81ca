/** What daemons on one database tell each other when tokens end. */
import type { Family } from './records.ts'

/** Whose tokens ended. */
export type Ended = Pick<Family, 'user' | 'client'>

const announcing = 'tokens.revoked '
const everything = `${announcing}*`
const longestAnnouncement = 7000

/** What tells the other daemons whose tokens ended. */
export function announcementOf(families: readonly Family[]): string {
  const text = announcing + JSON.stringify(families.map(({ user, client }) => ({ user, client })))
  return Buffer.byteLength(text) > longestAnnouncement ? everything : text
}

/** What a message of another daemon says of it; undefined where it is about something else. */
export function announcedBy(message: string): { readonly ended: readonly Ended[] | undefined } | undefined {
  return message.startsWith(announcing) ? { ended: readEnded(message.slice(announcing.length)) } : undefined
}

/**
 * Who is meant; undefined for everybody, and so for what cannot be understood: any role that may connect to the
 * database can announce, and so can a daemon of another version.
 */
function readEnded(text: string): readonly Ended[] | undefined {
  try {
    const ended = JSON.parse(text) as unknown
    return Array.isArray(ended) && ended.every(isEnded) ? ended : undefined
  } catch {
    return undefined
  }
}

function isEnded(value: unknown): value is Ended {
  const { user, client } = (value ?? {}) as { user?: unknown; client?: unknown }
  return typeof user === 'string' && typeof client === 'string'
}
