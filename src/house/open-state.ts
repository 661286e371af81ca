/** Opens the state at the place that `store` in config/settings.yaml names. That file is read alone: the site comes later. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { readSecretFile, type SecretPath } from '#leaf/secret-files.ts'
import type { Settings } from '../core/settings.ts'
import { parseAhead } from '#site/reading.ts'
import { readSettings, settingsFile } from '../settings/read-settings.ts'
import { fileFault, type Fault } from '#site/site-files.ts'
import { siteFaults } from '#site/site.ts'
import {
  type EmbeddedStore,
  openEmbeddedStore,
  lockState,
  migrations,
  snapshotName,
} from '#state/operations.ts'
import { openPrivateFolder } from '#leaf/files.ts'
import type { PostgresStore } from '#state/postgres.ts'
import type { Store } from '#state/store.ts'

/** An open state of either kind. */
export type OpenedState = EmbeddedStore | PostgresStore

/** The place of a state. */
export interface StatePlace {
  readonly settings: Settings['store']
  readonly secretPath: SecretPath
  /** The folder of the lock, the control socket and the audit log, and of the embedded state. */
  readonly state: string
  readonly clock: Clock
  readonly log: Log
  /** True when somebody is about to answer for what the database lacks. */
  readonly acceptsOlder?: boolean
}

/**
 * Opens the state. AppError `conflict` when another process has the folder, `unavailable` when the database
 * cannot be used, `invalid` when the state is damaged or newer.
 */
export async function openState(place: StatePlace): Promise<OpenedState> {
  const { settings, state, clock, log, acceptsOlder = false } = place
  if (settings.kind === 'embedded') return await openEmbeddedStore({ folder: state, clock, log, migrations })
  await openPrivateFolder(state, log)
  const lock = await lockState(state, clock)
  try {
    const { openPostgresStore } = await import('#state/postgres.ts')
    const url = await databaseUrl(settings, place.secretPath)
    const { connections } = settings
    const closed = (): void => lock.release()
    const database = { url, connections, folder: state, acceptsOlder }
    const store = await openPostgresStore({ ...database, clock, log, migrations, closed })
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

/** Reads the settings without the rest of the site. AppError `invalid` with every fault of the site when they have one. */
export async function readSettingsAlone(site: string): Promise<Settings> {
  const files = await onlySettings(site)
  // What does not parse is told there: its defaults would name another state than the site does.
  const faults: Fault[] = [...files.faults]
  const settings = readSettings(files, faults, [])
  if (faults.length === 0) return settings
  // Whoever fixes the settings wants to know of the other faults as well.
  const { readWholeSite } = await import('./snapshot.ts')
  const whole = await readWholeSite(site)
  throw siteFaults(site, whole.faults.length > 0 ? whole.faults : faults)
}

/** Reads the address of the database, which is a secret. */
export async function databaseUrl(
  { url_file: name }: Settings['store'],
  secretPath: SecretPath,
): Promise<string> {
  if (name === null)
    throw new AppError('invalid', 'store.url_file: no file with an address of a database is named')
  return await readSecretFile(secretPath(name), 'store.url_file')
}

async function onlySettings(site: string): Promise<Parameters<typeof readSettings>[0]> {
  const rest = { folder: site, assets: new Map(), digest: '' }
  try {
    const { document, faults } = parseAhead(settingsFile, await readFile(join(site, settingsFile)))
    const documents = new Map(document ? [[settingsFile, document]] : [])
    return { ...rest, documents, faults }
  } catch {
    return { ...rest, documents: new Map(), faults: [fileFault(settingsFile, 'cannot be read')] }
  }
}
