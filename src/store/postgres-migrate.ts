import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { writeBackup } from './backup.ts'
import { migrate, type Migration, type MigrationReport, requireKnownSchema } from './migrate.ts'
import type { Queryable } from './postgres-connection.ts'
import { documentsOf, wholeState } from './postgres-picture.ts'
import { idBytes } from './postgres-entries.ts'
import { lockAll, type StateHead } from './postgres-tables.ts'
import { snapshotHeader, snapshotText } from './snapshot.ts'

/**
 * Runs the steps that the documents still lack, after putting a backup of them into the folder. The caller
 * founds alone and keeps all of it or nothing. AppError `invalid` when a newer version wrote them.
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
  // What an older daemon is keeping just now comes first; what it wants to keep later it sees that it may not.
  await on.rows({ text: lockAll, values: [], patience: 60_000 })
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
  // What documents are looked up by follows when the collections are declared.
  await on.rows({ text: 'DELETE FROM assistant_core.collection', values: [] })
  await on.rows({
    text: 'UPDATE assistant_core.state SET schema = $1, generation = generation + 1',
    values: [migrations.length],
  })
  return report
}
