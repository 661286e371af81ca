/** Databases of others: opening one, who asks it, and what becomes of a transaction there. No driver is loaded before one is opened. */
import type { Door } from './door.ts'
import type { Source } from './source.ts'
import type { SecretOf } from './source-limits.ts'

export type { Caller, Door } from './door.ts'
export { type Outcome, type TransactionThere, UnknownThere } from './in-writing.ts'
export { lookMilliseconds, type SecretOf } from './source-limits.ts'

/** Opens the connections to a source; loads the driver of its kind. */
export async function openDoor(
  source: Source,
  secretOf: SecretOf,
  onError: (error: Error) => void,
): Promise<Door> {
  if (source.type === 'postgres') {
    const { SourceDoor } = await import('./source-door.ts')
    return new SourceDoor(source, secretOf, onError)
  }
  const { MysqlDoor } = await import('#sources/mysql-door.ts')
  return new MysqlDoor(source, secretOf, onError)
}
