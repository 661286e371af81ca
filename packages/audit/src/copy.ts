/** Copies of the log in another folder: whole, checked, and quick to bring up to date. */
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { openPrivateFolder, replaceFile } from '#leaf/files.ts'
import type { SharedLedger } from '#state/store.ts'
import { headName, keyName, keyOf, openPublicKeys, publicKeyName } from './checkpoint.ts'
import { exportedLogs, exportLog, folderOfWriter, writerOf } from './import-log.ts'
import { listLogFiles, type LogFile } from './files/log-files.ts'
import { endOfFile } from './files/file-ledger.ts'
import { type AuditVerification, together } from './verifying/verification.ts'
import { verifyAudit } from './verifying/verify.ts'

const attempts = 10
/** The names of the files that make up a copy of a log in files; beside folders of daemons, they were there before. */
const ofFiles = /^(audit-.*|head\.json|key.*\.pem)(\.new)?$/

/** The state of a copy. */
export interface AuditCopy extends AuditVerification {
  readonly folder: string
  /** The number of files that were missing or had grown. */
  readonly copied: number
}

/**
 * Brings the copy of a log in another folder up to date, and reads it back: of files, or of the ledger that daemons share,
 * with a folder for each of them. The log may be written meanwhile. Files that the log has dropped are dropped from the copy
 * too, if the log says that it did so itself. AppError `not_found` when there is no log, `conflict` when the folder holds the
 * copy of another log, `unavailable` when the copy is not whole.
 */
export async function copyLog(
  ledger: SharedLedger | undefined,
  from: string,
  to: string,
  log: Log,
): Promise<AuditCopy> {
  if (!ledger && (await openPublicKeys(from)).id === undefined)
    throw new AppError('not_found', 'there is no audit log to copy')
  await requireOwnFolder(from, to, ledger !== undefined)
  await openPrivateFolder(to, log)
  const copied = ledger ? await copyWriters(ledger, from, to, log) : await copyFolder(from, to)
  const found = ledger ? await verifyExported(to) : await verifyAudit(to)
  if (!found.ok)
    throw new AppError(
      'unavailable',
      `the copy of the audit log in ${to} is not as the log was written: ${found.faults[0]}`,
    )
  const [oldest] = ledger ? [] : await listLogFiles(from)
  if (oldest && oldest.first - 1 <= found.pruned)
    for (const { first, path } of await listLogFiles(to)) if (first < oldest.first) await unlink(path)
  return { folder: to, copied, ...found }
}

/** Requires a folder for this alone, since it is closed to others with all that is in it. */
async function requireOwnFolder(from: string, to: string, isShared: boolean): Promise<void> {
  const [log, copy] = [await stat(from).catch(() => undefined), await stat(to).catch(() => undefined)]
  if (copy && log?.ino === copy.ino && log.dev === copy.dev)
    throw new AppError('conflict', `${to} is the audit log itself; name a folder of its own for the copy`)
  const names: readonly string[] = await readdir(to).catch(() => [])
  const known = new Set((await exportedLogs(to)).map(({ id }) => id))
  // Whatever lies beside an existing copy of files came with it.
  const isOurs = (name: string): boolean => (isShared ? known.has(name) : names.includes(publicKeyName))
  const strange = names.find((name) => !ofFiles.test(name) && !isOurs(name))
  if (strange !== undefined)
    throw new AppError('conflict', `${to} holds other things, such as ${strange}; name a folder of its own`)
}

async function copyFolder(from: string, to: string): Promise<number> {
  const known = await openPublicKeys(to)
  if (known.id !== undefined && !(await openPublicKeys(from)).all.has(known.id))
    throw new AppError('conflict', `${to} holds the copy of another audit log; name another folder`)
  // Read the head before the lines: lines written meanwhile only make the copy longer than its head says.
  const head = await readFile(join(from, headName)).catch(() => undefined)
  // Older keys come first: a copy that is cut off here must not lack them.
  const names = (await readdir(from)).filter((name) => /^key.*\.pem$/.test(name)).sort()
  for (const name of names) await copyFile(join(from, name), join(to, name))
  const copied = await copyLines(from, to)
  if (head) await replaceFile(join(to, headName), head)
  return copied
}

/** Copies the lines of every writer, and the key of the daemon whose folder is given. */
async function copyWriters(ledger: SharedLedger, from: string, to: string, log: Log): Promise<number> {
  const key = await readFile(join(from, keyName), 'utf8').catch(() => undefined)
  const own = key === undefined ? undefined : await writerOf(ledger, from, keyOf(key).id)
  let copied = 0
  for (const writer of await ledger.writers()) {
    if (await exportLog(ledger, writer, folderOfWriter(to, writer), log)) copied++
    if (writer.id === own) await replaceFile(join(to, own, keyName), key!)
  }
  return copied
}

/** Verifies a copy of the log that daemons share. */
export async function verifyExported(folder: string): Promise<AuditVerification> {
  const parts = (await exportedLogs(folder)).map(async (one) => {
    const found = await verifyAudit(one.folder, { exported: true })
    const placed = (texts: readonly string[]): string[] => texts.map((text) => `${one.id}/${text}`)
    return { ...found, faults: placed(found.faults), notes: placed(found.notes) }
  })
  return together(await Promise.all(parts))
}

/** Copies the files, and lists them again when housekeeping renames or removes some meanwhile. */
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
  // A line that is being written is not part of the copy.
  const length = file.compressed ? file.bytes : (await endOfFile(file)).length
  const missing = there?.size !== length
  if (missing) await copyFile(file.path, path, length)
  // The copy from before the file was compressed would take precedence over the compressed one.
  if (file.compressed) await unlink(path.slice(0, -'.gz'.length)).catch(() => undefined)
  return missing
}

async function copyFile(from: string, to: string, length = Infinity): Promise<void> {
  const { atime, mtime } = await stat(from)
  await replaceFile(to, length > 0 ? contentOf(from, length) : '')
  // A copy keeps the times of its original.
  await utimes(to, atime, mtime)
}

/** Opens the file only when it is read: if it is gone by then, the error must reach somebody who handles it. */
async function* contentOf(path: string, length: number): AsyncGenerator<Buffer> {
  for await (const chunk of createReadStream(path, { end: length - 1 })) yield chunk as Buffer
}
