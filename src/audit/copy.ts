/** Copies of the log in another folder: whole, checked, and quick to bring up to date. */
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { openPrivateFolder, replaceFile } from '../core/files.ts'
import type { Ledger } from '../store/ledger.ts'
import { headName, keyName, keyOf, openPublicKeys, publicKeyName } from './checkpoint.ts'
import { exportedLogs, exportLog, writerOf } from './import-log.ts'
import { listLogFiles, type LogFile } from './log-files.ts'
import { logEnd } from './log-end.ts'
import { type AuditVerification, together } from './verification.ts'
import { verifyAudit } from './verify.ts'

const attempts = 10
/** What a copy of the log in files consists of; beside the folders of daemons it is what lay there before. */
const ofFiles = /^(audit-.*|head\.json|key.*\.pem)(\.new)?$/

/** What a copy holds now. */
export interface AuditCopy extends AuditVerification {
  readonly folder: string
  /** Files that were not there yet, or had grown. */
  readonly copied: number
}

/**
 * Brings the copy of a log in another folder up to date, and reads it back. The log may be written meanwhile. What the
 * log has dropped is dropped from the copy too, if the log says that it did so itself. AppError `not_found` when there is no log, `conflict` when the folder
 * holds the copy of another log, `unavailable` when the copy is not whole.
 */
export async function copyAudit(from: string, to: string, log: Log): Promise<AuditCopy> {
  const keys = await openPublicKeys(from)
  if (keys.id === undefined) throw new AppError('not_found', 'there is no audit log to copy')
  // What lies beside the copy that is there already came with it.
  await requireOwnFolder(to, (name, names) => ofFiles.test(name) || names.includes(publicKeyName))
  await openPrivateFolder(to, log)
  const known = await openPublicKeys(to)
  if (known.id !== undefined && !keys.all.has(known.id))
    throw new AppError('conflict', `${to} holds the copy of another audit log; name another folder`)
  // The head before the lines: what is written meanwhile only makes the copy longer than its head says.
  const head = await readFile(join(from, headName)).catch(() => undefined)
  // Those before it first: a copy that is cut off here must not lack them.
  const names = (await readdir(from)).filter((name) => /^key.*\.pem$/.test(name)).sort()
  for (const name of names) await copyFile(join(from, name), join(to, name))
  const copied = await copyLines(from, to)
  if (head) await replaceFile(join(to, headName), head)
  const verification = requireWhole(to, await verifyAudit(to))
  const [oldest] = await listLogFiles(from)
  if (oldest && oldest.first - 1 <= verification.pruned)
    for (const { first, path } of await listLogFiles(to)) if (first < oldest.first) await unlink(path)
  return { folder: to, copied, ...verification }
}

/** Brings a copy of the log that daemons share up to date: a folder for each of them. The key of the one whose folder is given is copied too. */
export async function copyLedger(ledger: Ledger, from: string, to: string, log: Log): Promise<AuditCopy> {
  const known = new Set((await exportedLogs(to)).map(({ id }) => id))
  await requireOwnFolder(to, (name) => known.has(name) || ofFiles.test(name))
  await openPrivateFolder(to, log)
  const key = await readFile(join(from, keyName), 'utf8').catch(() => undefined)
  const own = key === undefined ? undefined : await writerOf(ledger, from, keyOf(key).id)
  let copied = 0
  for (const writer of await ledger.writers()) {
    if (await exportLog(ledger, writer, join(to, writer.id), log)) copied++
    if (writer.id === own) await replaceFile(join(to, own, keyName), key!)
  }
  return { folder: to, copied, ...requireWhole(to, await verifyExported(to)) }
}

/** Reads a copy of the log that daemons share. */
export async function verifyExported(folder: string): Promise<AuditVerification> {
  const parts = (await exportedLogs(folder)).map(async (one) => {
    const found = await verifyAudit(one.folder, { exported: true })
    const placed = (texts: readonly string[]): string[] => texts.map((text) => `${one.id}/${text}`)
    return { ...found, faults: placed(found.faults), notes: placed(found.notes) }
  })
  return together(await Promise.all(parts))
}

function requireWhole(to: string, found: AuditVerification): AuditVerification {
  if (found.ok) return found
  throw new AppError(
    'unavailable',
    `the copy of the audit log in ${to} is not as the log was written: ${found.faults[0]}`,
  )
}

/** The folder is closed to others, with all that is in it: it must be for this alone. */
async function requireOwnFolder(
  to: string,
  isOurs: (name: string, names: readonly string[]) => boolean,
): Promise<void> {
  const names: readonly string[] = await readdir(to).catch(() => [])
  const strange = names.find((name) => !isOurs(name, names))
  if (strange !== undefined)
    throw new AppError('conflict', `${to} holds other things, such as ${strange}; name a folder of its own`)
}

/** Files are renamed and removed while the log is put in order; then it is looked at again. */
async function copyLines(from: string, to: string): Promise<number> {
  let copied = 0
  for (let attempt = 1; ; attempt++) {
    try {
      for (const file of await listLogFiles(from)) if (await copyLogFile(file, to)) copied++
      return copied
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === attempts) throw error
    }
  }
}

async function copyLogFile(file: LogFile, to: string): Promise<boolean> {
  const path = join(to, file.name)
  const there = await stat(path).catch(() => undefined)
  // A line that is just being written is not part of the copy.
  const length = file.compressed ? file.bytes : (await logEnd(file)).length
  const missing = there?.size !== length
  if (missing) await copyFile(file.path, path, length)
  // The copy from before the file was compressed would go before the compressed one.
  if (file.compressed) await unlink(path.slice(0, -'.gz'.length)).catch(() => undefined)
  return missing
}

async function copyFile(from: string, to: string, length = Infinity): Promise<void> {
  const { atime, mtime } = await stat(from)
  await replaceFile(to, length > 0 ? createReadStream(from, { end: length - 1 }) : '')
  // The age of a copy is that of what it is a copy of.
  await utimes(to, atime, mtime)
}
