import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Low } from 'lowdb'
import type { Log } from '#leaf/log.ts'
import { writeBackup } from './backup.ts'
import { migrate, type Migration } from './migrate.ts'
import type { State } from './embedded/state.ts'
import type { StateFile } from './embedded/state-file.ts'

interface UpgradeOptions {
  readonly folder: string
  readonly log: Log
  readonly migrations?: readonly Migration[]
}

/** Migrates a state that was just read, after writing a backup beside it. */
export async function upgrade(options: UpgradeOptions, low: Low<State>, file: StateFile): Promise<void> {
  const { folder, log, migrations = [] } = options
  const from = low.data.schema
  const backup = `before-schema-${migrations.length}.backup`
  if (from < migrations.length) {
    await rm(join(folder, backup), { force: true })
    await writeBackup(file.picture(low.data, 0), join(folder, backup))
  }
  const { to, steps } = migrate(low.data, migrations)
  if (steps.length === 0) return
  // The snapshot carries the new version and takes the old one's place in one step.
  await low.write()
  log.info('the state was brought up to date', { from, to, steps, backup })
}
