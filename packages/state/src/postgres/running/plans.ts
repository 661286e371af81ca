/** Prepared statements, whose plans a connection keeps: the same text is planned once. */
import type { PoolClient } from 'pg'

/** The most plans of a connection; one with more is closed. */
const mostKept = 200

const keptOn = new WeakMap<PoolClient, Map<string, string>>()

/** Returns the name of a statement's text on a connection. */
export function keptName(client: PoolClient, text: string): string {
  let kept = keptOn.get(client)
  if (!kept) keptOn.set(client, (kept = new Map()))
  let name = kept.get(text)
  if (name === undefined) kept.set(text, (name = `kept_${kept.size}`))
  return name
}

/** True when a connection should be closed because it keeps too many plans. */
export function hasLearnedMuch(client: PoolClient): boolean {
  return (keptOn.get(client)?.size ?? 0) > mostKept
}
