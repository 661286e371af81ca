import type { TableSpec } from '../embedded/table.ts'
import { compared } from '../questions/conditions.ts'
import { keptAfterEnd } from '../shared-time.ts'
import type { Statement } from './servers/connection.ts'
import { documentLayout } from './translating/document-layout.ts'
import { quoted } from './language.ts'
import { Words } from './translating/words.ts'

/** Returns the statement that removes documents that expired long before `now`, with a row for each; none where none expires. */
export function sweeping({ name, expires }: TableSpec, most: number, now: number): Statement | undefined {
  if (expires === undefined) return undefined
  const values: unknown[] = [most]
  const ended = new Words(values, documentLayout(name, [])).of(compared(expires, '<', now - keptAfterEnd))!
  return {
    text: `DELETE FROM assistant_core.document o USING (
        SELECT id FROM assistant_core.document d WHERE collection = ${quoted(name)} AND ${ended}
          AND jsonb_typeof(data -> ${quoted(expires)}) = 'number' LIMIT $1 FOR UPDATE SKIP LOCKED
      ) AS ended WHERE o.collection = ${quoted(name)} AND o.id = ended.id RETURNING 1`,
    values,
  }
}
