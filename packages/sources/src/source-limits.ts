/** How long sources of every kind may take, and as whom they are asked. */
import type { Caller } from './door.ts'
import type { Source } from './source.ts'

/** Milliseconds in which a source has to answer what is asked of its catalogue. */
export const lookMilliseconds = 8000
/** Milliseconds beyond the database's own limit, after which it counts as gone. */
export const grace = 2000
const defaultSeconds = 10

/** Reads a secret by its name. */
export type SecretOf = (name: string) => Promise<string>

/** Returns the milliseconds that a question to the documents in a source may take. */
export function patienceOf({ timeout_seconds: seconds = defaultSeconds }: Source): number {
  return seconds * 1000
}

/** Returns what a database is told of who asks: user, roles and client. */
export function callerOf(
  principal: Caller | undefined,
): readonly [user: string, roles: string, client: string] {
  return [principal?.user ?? '', [...(principal?.roles ?? [])].sort().join(','), principal?.client?.id ?? '']
}
