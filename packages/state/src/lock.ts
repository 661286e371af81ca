/**
 * The lock of the state: one process at a time holds it, the one that the file `lock` names. A lock whose process
 * is gone is taken over by whoever first links a guard with the dead lock's own nonce; so of several that
 * see the same dead lock only one may remove it, and nobody ever removes a live one.
 */
import { jsonOr } from '#leaf/as-json.ts'
import {
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { type Clock, isoTime, systemClock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import { privateFile } from '#leaf/files.ts'

const lockName = 'lock'
const beatMilliseconds = 2_000
const silentMilliseconds = 7_000
const pollMilliseconds = 50

/** The process that holds the lock. */
export interface LockHolder {
  readonly pid: number
  /** The boot id, which changes at each start of the machine. */
  readonly boot: string
  /** The start time of the process, in kernel ticks; tells it from a later one with the same number. */
  readonly started: string
  /** The process id namespace: process ids of another container mean nothing here. */
  readonly namespace: string
  readonly host: string
  readonly nonce: string
  /** The time the lock was taken, ISO 8601, UTC. */
  readonly since: string
}

/** A held lock: the right to open the state. */
export interface StateLock {
  readonly folder: string
  /** Throws AppError `unavailable` when the lock was released, or was seen (within seconds) to be somebody else's. */
  requireHeld(): void
  release(): void
}

/** Takes the lock of a state folder; AppError `conflict` names the process that holds it. */
export async function lockState(folder: string, clock: Clock): Promise<StateLock> {
  const path = join(folder, lockName)
  const own = describeSelf(clock)
  await take(path, own)
  // Removes drafts and guards of killed processes; a live process whose draft is removed tries again.
  for (const name of readdirSync(folder)) {
    if (name.startsWith(`${lockName}.`)) rmSync(join(folder, name), { force: true })
  }
  let lost = false
  // A heartbeat for processes in other containers: they cannot look us up by number and watch this file's time.
  const beat = setInterval(() => {
    lost ||= !touch(path, own)
  }, beatMilliseconds).unref()
  return {
    folder,
    requireHeld() {
      if (lost) throw new AppError('unavailable', 'the lock of the state was lost')
    },
    release() {
      clearInterval(beat)
      if (!lost && readHolder(path)?.nonce === own.nonce) rmSync(path, { force: true })
      lost = true
    },
  }
}

/** Returns the live process that holds the lock, if one does. */
export async function lockHolder(folder: string): Promise<LockHolder | undefined> {
  const path = join(folder, lockName)
  const holder = readHolder(path)
  return holder && (await isAlive(path, holder)) ? holder : undefined
}

async function take(path: string, own: LockHolder): Promise<void> {
  for (;;) {
    if (linkLock(path, own)) return
    const holder = readHolder(path)
    if (!holder) continue
    if (await isAlive(path, holder)) {
      throw new AppError(
        'conflict',
        `the state is in use by process ${holder.pid}${holder.host === own.host ? '' : ` on ${holder.host}`} since ${holder.since}; stop it ${holder.host === own.host ? `with: kill ${holder.pid}` : 'there'}`,
        { data: { pid: holder.pid, since: holder.since } },
      )
    }
    await removeDead(path, holder, own)
  }
}

/** Removes a dead lock unless somebody else is about to. A guard left by a crash is taken over the same way. */
async function removeDead(path: string, dead: LockHolder, own: LockHolder): Promise<void> {
  const guard = `${path}.${dead.nonce}`
  try {
    await take(guard, own)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await setTimeout(pollMilliseconds)
    return
  }
  try {
    // Only the guard's holder removes this lock: if it is still there, it stays there until the next line.
    if (readHolder(path)?.nonce === dead.nonce) unlinkSync(path)
  } finally {
    rmSync(guard, { force: true })
  }
}

/** Creates the lock with its content in one step; false when there is one, or when the caller should try again. */
function linkLock(path: string, own: LockHolder): boolean {
  const draft = `${path}.${own.pid}.${randomId()}`
  writeFileSync(draft, `${JSON.stringify(own)}\n`, { mode: privateFile, flag: 'wx' })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || code === 'ENOENT') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

async function isAlive(path: string, holder: LockHolder): Promise<boolean> {
  if (holder.boot !== bootId()) return false
  if (holder.namespace !== processNamespace()) return await beats(path, holder)
  const started = lookAt(holder.pid)
  return started === 'hidden' ? await beats(path, holder) : started === holder.started
}

/** True when the lock of a process that cannot be seen from here is still being touched. */
async function beats(path: string, holder: LockHolder): Promise<boolean> {
  const first = timeOf(path)
  for (let waited = 0; waited < silentMilliseconds; waited += pollMilliseconds) {
    await setTimeout(pollMilliseconds)
    if (readHolder(path)?.nonce !== holder.nonce || timeOf(path) !== first) return true
  }
  return false
}

function describeSelf(clock: Clock): LockHolder {
  return {
    pid: process.pid,
    boot: bootId(),
    started: lookAt(process.pid) ?? '',
    namespace: processNamespace(),
    host: hostname(),
    nonce: randomId(),
    since: isoTime(clock.now()),
  }
}

function readHolder(path: string): LockHolder | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const holder = jsonOr(text) as LockHolder | null | undefined
  if (holder && Number.isSafeInteger(holder.pid) && /^[\w-]{8,64}$/.test(holder.nonce)) return holder
  // A lock is linked whole, so this file is not one of ours.
  throw new AppError(
    'conflict',
    'the lock of the state is not readable; if no process uses the state, remove it',
  )
}

function bootId(): string {
  return readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
}

/**
 * Returns the start time of a process in ticks since boot (empty where the system does not say); undefined
 * when there is no such process; `hidden` when it is not shown, as under systemd's ProtectProc.
 */
function lookAt(pid: number): string | undefined {
  const text = readProc(`/proc/${pid}/stat`)
  if (text === undefined) return exists(pid) ? (process.platform === 'linux' ? 'hidden' : '') : undefined
  // The second field is the program's name in parentheses and may hold anything; 20 fields follow it.
  const [state, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // A zombie does nothing any more and has closed its files.
  return state === 'Z' || state === 'X' ? undefined : rest[18]
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Updates the lock's time to show that the holder lives; true while the lock is still its own. */
function touch(path: string, own: LockHolder): boolean {
  try {
    if (readHolder(path)?.nonce !== own.nonce) return false
    const now = systemClock.now() / 1000
    utimesSync(path, now, now)
    return true
  } catch (error) {
    // Any other error, such as too many open files, says nothing about whose lock it is.
    return !(error instanceof AppError) && (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
