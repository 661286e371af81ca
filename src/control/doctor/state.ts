/** `doctor` on the state: its permissions, its integrity, the disk space, and the files that hold secrets. */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { FileLedger } from '#audit/reading.ts'
import { holdingOf, volumeOfFiles, volumeOfLedger } from '#audit/operations.ts'
import { databaseOf, withLedger } from '../../house/offline-state.ts'
import { systemClock } from '#leaf/clock.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { namedSecrets, secretsIn } from '#leaf/secret-files.ts'
import type { Settings } from '../../core/settings.ts'
import { type Verification, verifyStore } from '#state/operations.ts'
import { broken, fine, unknown, warning, type Checks, type Found, type Verdict } from './finding.ts'
import type { ReadPatient } from './patient.ts'

const megabyte = 1_048_576
const leastMegabytes = 100
const fewMegabytes = 1024
const sumOf = (counts: readonly number[]): number => counts.reduce((sum, one) => sum + one, 0)

/** The checks of the state on disk or in its database, and of the files beside it. */
export const stateChecks: Checks<ReadPatient> = {
  'state.mode': ({ state }) => checkModes(state),
  'state.room': ({ state }) => {
    if (!existsSync(state)) return undefined
    const { bavail, bsize } = statfsSync(state)
    const free = Math.floor((bavail * bsize) / megabyte)
    if (free >= fewMegabytes) return fine(`${free} MB free`)
    return (free < leastMegabytes ? broken : warning)(
      `${free} MB free`,
      'when the disk is full, everything that must be audited is refused',
      'make room, or lower audit.max_total_bytes and audit.retention_days (no event younger than 30 days is removed)',
    )
  },
  'state.valid': async ({ state, settings }) => {
    if (settings?.store.kind === 'postgres' || !existsSync(state)) return undefined
    try {
      const found = await verifyStore(state)
      const whole = verified(found, 'the disk, or somebody, changed the files of the state')
      return [whole, { check: 'state.size', ...checkSize(found.documents) }]
    } catch (error) {
      return unknown(messageOf(error))
    }
  },
  'state.database': checkDatabase,
  'audit.holds': checkVolume,
  'secrets.mode': (patient) => secretsOf(patient).map(checkMode),
}

function checkModes(state: string): Verdict {
  const remedy = "run this as the daemon's user"
  try {
    const { uid } = statSync(state)
    const paths = [state, ...readdirSync(state).map((name) => join(state, name))]
    const foreign = paths.filter((path) => statSync(path).uid !== uid)
    const readable = paths.filter((path) => (statSync(path).mode & 0o077) !== 0)
    if (foreign.length > 0)
      return broken(
        `${foreign.slice(0, 3).join(', ')} belong to another user than ${state}`,
        'a command was run as another user, often as root',
        `chown -R --reference=${state} ${state}`,
      )
    if (readable.length === 0) return fine(`${state} is closed to other users`)
    const cause = 'the state holds password hashes and signing keys'
    const remedy = `chmod -R go= ${state}`
    return broken(`others may read ${readable.slice(0, 3).join(', ')}`, cause, remedy)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? unknown(`${state} does not exist yet; the first start makes it`)
      : broken(messageOf(error), 'the state cannot be reached', remedy)
  }
}

function verified({ ok, documents, faults, notes }: Verification, cause: string): Verdict {
  const count = sumOf(Object.values(documents))
  if (ok) return fine([`${count} records`, ...notes].join('; '))
  const remedy = 'assistant-core store verify names every fault; restore the last backup'
  return broken(faults[0] ?? 'damaged', cause, remedy)
}

/** From how many documents on PostgreSQL is the store to have; README names it. */
export const manyDocuments = 200_000

/** Tells whether so many documents, by collection, are too many for the embedded store. */
export function checkSize(documents: Verification['documents']) {
  const kept = Object.entries(documents).filter(([name]) => name.startsWith('document.'))
  const count = sumOf(kept.map(([, one]) => one))
  if (count < manyDocuments) return fine(`${count} documents`)
  return warning(
    `${count} documents are many for the embedded store`,
    'parts of texts, sums and the first search read all of them, and all of them are in memory',
    'stop the service, assistant-core store copy --to postgres, set store.kind: postgres, start again',
  )
}

async function checkDatabase(patient: ReadPatient): Promise<Found> {
  const { settings } = patient
  if (settings?.store.kind !== 'postgres' || !existsSync(patient.state)) return undefined
  try {
    const { connectionsOf, openToEverybody, verifyPostgres } = await import('#state/postgres.ts')
    const url = (await databaseOf(patient))!
    const whole = verified(await verifyPostgres(url, systemClock), 'somebody changed the tables of the state')
    const open = await openToEverybody(url, patient.state)
    // A role that may connect reads no table, but may take connections and locks, and burden daemons with notifications.
    const connect =
      open === undefined
        ? fine('only roles that were given it may connect to the database')
        : warning(
            `every role of its server may connect to the database ${open}`,
            'PostgreSQL lets everybody, unless it is told otherwise',
            `GRANT CONNECT ON DATABASE "${open}" TO the service's role; REVOKE CONNECT ON DATABASE "${open}" FROM PUBLIC`,
          )
    const counts = await connectionsOf(url, patient.state)
    return [
      whole,
      { check: 'state.connect', ...connect },
      { check: 'state.connections', ...checkConnections(counts, settings.store) },
    ]
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return unknown(error.message)
    const cause = 'the database cannot be used, and without it nothing works'
    return broken(messageOf(error), cause, 'look whether it runs, and at the file that store.url_file names')
  }
}

async function checkVolume(patient: ReadPatient): Promise<Found> {
  const { state, settings } = patient
  if (!settings || !existsSync(state)) return undefined
  const folder = join(state, 'audit')
  const url = await databaseOf(patient)
  const volume =
    url === undefined
      ? await volumeOfFiles(folder, (await new FileLedger(folder).writers())[0]!.last)
      : await withLedger(url, async (ledger) => ledger && (await volumeOfLedger(ledger)))
  if (!volume) return undefined
  const { text, isShort } = holdingOf(volume, settings.audit, systemClock.now())
  if (!isShort) return fine(text)
  return warning(
    text,
    'audit.max_total_bytes ends the log before audit.retention_days does',
    'raise audit.max_total_bytes and give it room, or forward events to an archive (audit.syslog, audit.webhook)',
  )
}

/** The part of a server's connections that daemons share. */
const sharedPart = 0.9

function checkConnections(
  { given, daemons }: { readonly given: number; readonly daemons: number },
  { connections }: Settings['store'],
): Verdict {
  // One more listens for what the others tell.
  const wanted = daemons * (connections + 1)
  const detail = `${daemons} daemons may hold ${wanted} of the ${given} connections that the server gives`
  if (wanted <= given * sharedPart) return fine(detail)
  return warning(
    detail,
    'so each takes fewer, down to three, and what it writes waits in turn',
    'raise max_connections of the server, lower store.connections, or give the daemons a pooler',
  )
}

/** Returns every file that the site names for a secret; its content is never read. */
function secretsOf({ reading, ...folders }: ReadPatient) {
  if (!reading) return []
  const { settings, own } = reading
  const pathOf = secretsIn(settings, folders)
  return namedSecrets([settings, own.http, own.upstreams, own.sources]).map(({ name }) => pathOf(name))
}

function checkMode(file: string): Verdict {
  try {
    // For systemd's credentials the group bits show only the upper bound of an access list.
    return (statSync(file).mode & 0o077) === 0 || file.startsWith('/run/credentials/')
      ? fine(`${file} is closed to other users`)
      : broken(`others may read ${file}`, 'its mode is too wide', `chmod 600 ${file}`)
  } catch (error) {
    const remedy = 'write the secret to that file, mode 0600, or correct the name'
    return (error as NodeJS.ErrnoException).code === 'EACCES'
      ? unknown(`${file} cannot be looked at by this user`)
      : broken(messageOf(error), 'the site names a file that is not there', remedy)
  }
}
