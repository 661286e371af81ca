import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#leaf/clock.ts'
import { writeBackup } from '../backup.ts'
import { migrate, type Migration, type MigrationReport, requireKnownSchema } from '../migrate.ts'
import type { Queryable } from './servers/connection.ts'
import { documentsOf, wholeState } from './picture.ts'
import { idBytes } from './language.ts'
import { lockAll } from './running/locks.ts'
import { makeTable, type StateHead, writeSchema } from './tables.ts'
import { snapshotHeader, snapshotText } from '../embedded/snapshot.ts'

/**
 * Runs the migrations that the documents still lack, after writing a backup of them to the folder. The caller
 * holds the founding lock and commits all or nothing. AppError `invalid` when a newer version wrote them.
 */
export async function migrateTables(
  on: Queryable,
  head: StateHead,
  migrations: readonly Migration[],
  { clock, folder }: { readonly clock: Clock; readonly folder: string | undefined },
): Promise<MigrationReport> {
  const { schema } = head
  requireKnownSchema(schema, migrations.length)
  if (schema === migrations.length) return { from: schema, to: schema, steps: [] }
  // The lock waits for an older daemon's running writes; its later writes are refused for the new schema.
  await lockAll(on, 60_000)
  if (folder !== undefined) {
    const backup = join(folder, `before-schema-${migrations.length}.backup`)
    await rm(backup, { force: true })
    await writeBackup(snapshotText(snapshotHeader(schema, clock), documentsOf(on)), backup)
  }
  const state = await wholeState(on, schema)
  const before = new Map([...state.tables].map(([name, table]) => [name, new Map(table.entries())]))
  const report = migrate(state, migrations)
  for (const [name, table] of state.tables) {
    const after = new Map(table.entries())
    await makeTable(on, { name })
    for (const [id, document] of after) {
      if (before.get(name)?.get(id) === document) continue
      await on.rows({
        keep: true,
        text: `INSERT INTO assistant_core.document (collection, id, body) VALUES ($1, $2, $3)
          ON CONFLICT (collection, id) DO UPDATE SET body = excluded.body`,
        values: [name, idBytes(id), JSON.stringify(document)],
      })
    }
    for (const id of before.get(name)?.keys() ?? []) {
      if (after.has(id)) continue
      await on.rows({
        keep: true,
        text: 'DELETE FROM assistant_core.document WHERE collection = $1 AND id = $2',
        values: [name, idBytes(id)],
      })
    }
  }
  await writeSchema(on, migrations.length)
  return report
}
