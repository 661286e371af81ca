/** Classifies the errors of the database. */
import { AppError, messageOf } from '#leaf/errors.ts'

/** The pool's message when all of its connections are in use for long: the database itself is well. */
const noConnectionFree = 'timeout exceeded when trying to connect'

/** The SQLSTATE of a host that takes no writes. */
export const readOnly = '25006'

/** The SQLSTATE of a server that has no connection left. */
export const noConnectionLeft = '53300'

/** The code for a session that does not keep what is set for it. */
export const noSession = 'no session'

/** The code for a server that lacks committed data. */
export const olderHistory = 'older history'

/** The SQLSTATE of a transaction that was ended because its daemon stood still. */
export const stoodStill = '25P03'

const collisions = ['40P01', '40001', stoodStill]
/** The SQLSTATE of a division by zero: a statement is written to fail with it when a unique value is taken. */
const valueTaken = '22012'

/** A collision of a transaction, which begins anew and then waits for what it collided at. */
export class Collision extends Error {
  /** The keys to wait for; of none, those of everything that the transaction met. */
  readonly keys: readonly string[]
  /** True when an id or a value was taken that the transaction had taken to be free. */
  readonly isTaken: boolean

  constructor(
    keys: readonly string[],
    { isTaken = false, cause }: { readonly isTaken?: boolean; readonly cause?: unknown } = {},
  ) {
    super('another transaction was in the way', { cause })
    this.keys = keys
    this.isTaken = isTaken
  }
}

/** Thrown when another server answers than the one whose history was checked. */
export class OtherServer extends Error {
  readonly server: number

  constructor(server: number) {
    super('another server answers')
    this.server = server
  }
}

/** True when a retry may help: the transaction was aborted because of another's work, and nothing of it was committed. */
export function isCollision(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof Collision || collisions.includes(codeOf(at)) || isPlaceTaken(at) || isMade(at))
      return true
  return false
}

/** True when another made the same table at the same moment, which is seen at the next try. */
function isMade(error: unknown): boolean {
  const isName = /^pg_(type|class)_/.test((error as { constraint?: string }).constraint ?? '')
  return codeOf(error) === '42P07' || (codeOf(error) === '23505' && isName)
}

/** True when an id or a unique value turned out to be taken. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === valueTaken || (codeOf(error) === '23505' && !isPlaceTaken(error))
}

/** True when lines of the ledger were refused because others have their numbers. */
export function isPlaceTaken(error: unknown): boolean {
  return codeOf(error) === '23505' && (error as { constraint?: string }).constraint === 'ledger_place'
}

/** The SQLSTATEs that stand for an outage, each with a message without any secret. */
const outages: readonly (readonly [RegExp, string])[] = [
  [/^(28P01|28000)$/, 'the database refuses this user or password'],
  [/^3D000$/, 'there is no such database'],
  [/^53100$/, "the database's disk is full"],
  [/^53300$/, 'the database has no connection left'],
  [/^08P01$/, 'what answers does not take the settings of a session, as a pooler may not'],
  [/^25006$/, 'the database is read-only'],
  [/^57P0[1235]$/, 'the database is starting or stopping'],
]

/** Returns why the database cannot be used, in words without any secret; undefined for every other error. */
export function outage(error: unknown): string | undefined {
  const code = codeOf(error)
  if (code === olderHistory || code === noSession) return messageOf(error)
  const known = outages.find(([codes]) => codes.test(code))?.[1]
  if (known !== undefined) return known
  if (/^(08|53|58)/.test(code)) return `the database reports ${code}`
  if (
    /^(E[A-Z]{3,}|[A-Z_]*CERT[A-Z_]*|ERR_(TLS|SSL)[A-Z_]*|[A-Z_]+_(SIGNATURE|VERIFY_[A-Z_]+))$/.test(code)
  ) {
    return `the database cannot be reached (${code})`
  }
  const message = error instanceof Error ? error.message : ''
  // A code decides by itself: a database that ends a wait for others does answer.
  if (code !== '' || message === noConnectionFree) return undefined
  if (/SSL/.test(message)) return 'the database does not speak TLS as it should'
  if (/timeout/i.test(message)) return 'the database does not answer in time'
  const lost = /terminated|not queryable|connection|calling end on the pool/i.test(message)
  return lost ? 'the connection to the database was lost' : undefined
}

/** Converts an error of the database to an AppError; an error without an outside cause stays as it is and is a bug. */
export function ourError(error: unknown): unknown {
  if (error instanceof AppError) return error
  const why = outage(error)
  if (why !== undefined)
    return new AppError('unavailable', `the state is not available: ${why}`, { cause: error })
  const code = codeOf(error)
  const waited = error instanceof Error && error.message === noConnectionFree
  if (waited || isCollision(error) || code === '55P03' || code === '57014') {
    const busy = 'the state is busy with the writes of others; try again'
    return new AppError('unavailable', busy, { cause: error })
  }
  if (code === '42501') {
    const may = "the state's database does not allow its user to do this; it must own the schema"
    return new AppError('unavailable', may, { cause: error })
  }
  return error
}

/** Returns PostgreSQL's SQLSTATE or the system's code of an error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
