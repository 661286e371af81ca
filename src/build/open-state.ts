/** Opens the state where `store` in config/settings.yaml says that it is. That file is read alone: the site comes later. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Settings } from '../core/settings.ts'
import { parseSource } from '../site/parse-source.ts'
import { readSettings, settingsFile } from '../site/read-settings.ts'
import { fileFault, type Fault } from '../site/site-files.ts'
import { siteFaults } from '../site/site.ts'
import { type EmbeddedStore, openEmbeddedStore } from '../store/embedded.ts'
import { openPrivateFolder } from '../core/files.ts'
import { lockState } from '../store/lock.ts'
import { migrations } from '../store/migrations.ts'
import type { PostgresStore } from '../store/postgres.ts'
import { snapshotName } from '../store/recovery.ts'
import type { Store } from '../store/store.ts'

/** A state that is open, whichever kind it is. */
export type OpenedState = EmbeddedStore | PostgresStore

/** Where a state lies. */
export interface StatePlace {
  readonly settings: Settings['store']
  /** The folder with the lock, the control socket and the audit log, and with the embedded state. */
  readonly state: string
  readonly clock: Clock
  readonly log: Log
}

/**
 * Opens the state. AppError `conflict` when another process has the folder, `unavailable` when the database
 * cannot be used, `invalid` when the state is damaged or newer.
 */
export async function openState({ settings, state, clock, log }: StatePlace): Promise<OpenedState> {
  if (settings.kind === 'embedded') return await openEmbeddedStore({ folder: state, clock, log, migrations })
  await openPrivateFolder(state, log)
  const lock = await lockState(state, clock)
  try {
    const { openPostgresStore } = await import('../store/postgres.ts')
    const url = await databaseUrl(settings)
    const { connections } = settings
    const closed = (): void => lock.release()
    const backupFolder = state
    const store = await openPostgresStore({ url, connections, clock, log, migrations, backupFolder, closed })
    if (isEmpty(store) && existsSync(join(state, snapshotName))) {
      const copy = 'assistant-core store copy --to postgres'
      log.warn('the database is empty; the state folder holds a state that is not used', { copy })
    }
    return store
  } catch (error) {
    lock.release()
    throw error
  }
}

function isEmpty(store: Store): boolean {
  return Object.values(store.stats().documents).every((count) => count === 0)
}

/** The settings, read without the rest of the site. AppError `invalid` with every fault of the site when they have one. */
export async function readSettingsAlone(site: string): Promise<Settings> {
  const faults: Fault[] = []
  const settings = readSettings(await onlySettings(site), faults, [])
  if (faults.length === 0) return settings
  // Whoever mends the settings wants to know of the rest as well.
  const { readWholeSite } = await import('./snapshot.ts')
  const whole = await readWholeSite(site)
  throw siteFaults(site, whole.faults.length > 0 ? whole.faults : faults)
}

/** The address of the database, which is a secret. */
export async function databaseUrl({ url_file: file }: Settings['store']): Promise<string> {
  if (file === null)
    throw new AppError('invalid', 'store.url_file: no file with an address of a database is named')
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? ''
    throw new AppError('unavailable', `store.url_file: ${file} cannot be read (${code})`, { cause })
  }
}

async function onlySettings(site: string): Promise<Parameters<typeof readSettings>[0]> {
  const rest = { folder: site, assets: new Map(), digest: '' }
  try {
    const { document, faults } = parseSource(settingsFile, await readFile(join(site, settingsFile)))
    const documents = new Map(document ? [[settingsFile, document]] : [])
    return { ...rest, documents, faults }
  } catch {
    return { ...rest, documents: new Map(), faults: [fileFault(settingsFile, 'cannot be read')] }
  }
}
