/** Statements whose plans a connection keeps: what is asked again in the same words is planned once. */
import type { PoolClient } from 'pg'

/** One that knows more is let go, with all of them. */
const mostKept = 50

const keptOn = new WeakMap<PoolClient, Map<string, string>>()

/** The name of a text on a connection. */
export function keptName(client: PoolClient, text: string): string {
  let kept = keptOn.get(client)
  if (!kept) keptOn.set(client, (kept = new Map()))
  let name = kept.get(text)
  if (name === undefined) kept.set(text, (name = `kept_${kept.size}`))
  return name
}

/** Whether a connection should be let go. */
export function hasLearnedMuch(client: PoolClient): boolean {
  return (keptOn.get(client)?.size ?? 0) > mostKept
}
