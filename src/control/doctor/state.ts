/** What `doctor` finds about the state: who may read it, whether it is whole, whether there is room; and the files that hold secrets. */
import { readdirSync, statfsSync, statSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { AppError, messageOf } from '../../core/errors.ts'
import type { Settings } from '../../core/settings.ts'
import { databaseUrl } from '../../build/open-state.ts'
import { type Verification, verifyStore } from '../../store/verify.ts'
import { about, type Finding } from './finding.ts'
import type { Patient } from './patient.ts'

const megabyte = 1_048_576
const leastBytes = 100 * megabyte
const fewBytes = 1024 * megabyte

/** Looks at the state as it lies on disk, or in its database. */
export async function examineState(
  { state, clock }: Patient,
  settings: Settings | undefined,
): Promise<readonly Finding[]> {
  let facts: Stats
  try {
    facts = statSync(state)
  } catch (error) {
    return [
      (error as NodeJS.ErrnoException).code === 'ENOENT'
        ? about('state.mode').unknown(`${state} does not exist yet; the first start makes it`)
        : about('state.mode').failure(
            messageOf(error),
            'the state cannot be reached',
            "run this as the daemon's user",
          ),
    ]
  }
  const content =
    settings?.store.kind === 'postgres'
      ? await examineDatabase(settings.store, clock)
      : await examineContent(state)
  return [examineModes(state, facts), examineRoom(state), content]
}

function examineModes(state: string, facts: Stats): Finding {
  const check = about('state.mode')
  const open = [{ path: state, facts }]
  try {
    for (const name of readdirSync(state))
      open.push({ path: join(state, name), facts: statSync(join(state, name)) })
  } catch (error) {
    return check.failure(
      messageOf(error),
      `the state belongs to user ${facts.uid}`,
      "run this as the daemon's user",
    )
  }
  const readable = open.filter((one) => (one.facts.mode & 0o077) !== 0).map(({ path }) => path)
  const foreign = open.filter((one) => one.facts.uid !== facts.uid).map(({ path }) => path)
  if (foreign.length > 0)
    return check.failure(
      `${foreign.slice(0, 3).join(', ')} belong to another user than ${state}`,
      'a command was run as another user, often as root',
      `chown -R --reference=${state} ${state}`,
    )
  return readable.length === 0
    ? check.fine(`${state} is closed to other users`)
    : check.failure(
        `others may read ${readable.slice(0, 3).join(', ')}`,
        'the state holds password hashes and signing keys',
        `chmod -R go= ${state}`,
      )
}

function examineRoom(state: string): Finding {
  const { bavail, bsize } = statfsSync(state)
  const free = bavail * bsize
  const detail = `${Math.floor(free / megabyte)} MB free`
  const check = about('state.room')
  if (free >= fewBytes) return check.fine(detail)
  return check[free < leastBytes ? 'failure' : 'warning'](
    detail,
    'when the disk is full, everything that must be audited is refused',
    'make room, or lower audit.max_total_bytes and audit.retention_days',
  )
}

async function examineContent(state: string): Promise<Finding> {
  try {
    return verified(
      'state.valid',
      await verifyStore(state),
      'the disk, or somebody, changed the files of the state',
    )
  } catch (error) {
    return about('state.valid').unknown(messageOf(error))
  }
}

function verified(check: string, { ok, documents, faults, notes }: Verification, cause: string): Finding {
  const count = Object.values(documents).reduce((sum, one) => sum + one, 0)
  return ok
    ? about(check).fine([`${count} records`, ...notes].join('; '))
    : about(check).failure(
        faults[0] ?? 'damaged',
        cause,
        'assistant-core store verify names every fault; restore the last backup',
      )
}

async function examineDatabase(settings: Settings['store'], clock: Clock): Promise<Finding> {
  const check = about('state.database')
  try {
    const { verifyPostgres } = await import('../../store/postgres-verify.ts')
    const found = await verifyPostgres(await databaseUrl(settings), clock)
    return verified('state.database', found, 'somebody changed the tables of the state')
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return check.unknown(error.message)
    return check.failure(
      messageOf(error),
      'the database cannot be used, and without it nothing works',
      'look whether it runs, and at the file that store.url_file names',
    )
  }
}

/** Looks at every file that a setting names for a secret; never at what is in it. */
export function examineSecrets({ login, audit, tracing, store }: Settings): readonly Finding[] {
  const files = [
    store.url_file,
    login.oidc?.client_secret_file,
    audit.webhook_secret_file,
    tracing.headers_file,
  ].filter((file): file is string => typeof file === 'string')
  return files.map((file) => {
    try {
      const { mode } = statSync(file)
      return (mode & 0o077) === 0
        ? about('secrets.mode').fine(`${file} is closed to other users`)
        : about('secrets.mode').failure(
            `others may read ${file}`,
            'its mode is too wide',
            `chmod 600 ${file}`,
          )
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EACCES'
        ? about('secrets.mode').unknown(`${file} cannot be looked at by this user`)
        : about('secrets.mode').failure(
            messageOf(error),
            'a setting names a file that is not there',
            'write the secret to that file, mode 0600, or correct the setting',
          )
    }
  })
}
