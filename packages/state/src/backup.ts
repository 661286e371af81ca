/** Backups. A backup is one file: a snapshot of one moment of the running store, with a checksum on every line. */
import { createReadStream } from 'node:fs'
import { link, readdir, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { openPrivateFolder, replaceFile, syncFolder } from '#leaf/files.ts'
import { secretsName } from '#leaf/secret-files.ts'
import { randomId } from '#leaf/secrets.ts'
import { createSegment, segmentName } from './embedded/journal.ts'
import { lineOf, opensBatch, readChecked } from './embedded/checked-lines.ts'
import { requireKnownSchema, schemaAfter } from './migrate.ts'
import { migrations } from './migrations.ts'
import { snapshotName, unfinishedRestoreName } from './embedded/recovery.ts'
import type { SnapshotHeader } from './embedded/snapshot.ts'
import { verifyBackup, type Verification } from './verify.ts'

/** Writes the text of a backup to a stream, such as standard output, and ends the stream. */
export async function streamBackup(text: AsyncIterable<string>, stream: Writable): Promise<void> {
  await pipeline(Readable.from(text), stream)
}

/** Writes the text of a backup to a new file, verifies it, and only then names it. AppError `conflict` when the name is taken. */
export async function writeBackup(text: AsyncIterable<string>, path: string): Promise<Verification> {
  if (await stat(path).catch(() => undefined)) throw taken()
  const draft = `${path}.unfinished`
  try {
    await replaceFile(draft, text)
    const verification = await verifyBackup(draft)
    if (!verification.ok) {
      throw new AppError('unavailable', `the backup is not readable: ${verification.faults[0]}`)
    }
    // Unlike rename, link never replaces a file that somebody made meanwhile.
    await link(draft, path)
    await syncFolder(dirname(path))
    return verification
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? taken() : error
  } finally {
    await unlink(draft).catch(() => undefined)
  }
}

function taken(): AppError {
  return new AppError('conflict', 'the backup file exists already')
}

/** The files that a folder without a state may hold. */
export const staying: readonly string[] = ['lock', secretsName]

/**
 * Restores a backup to a folder without a state. Reads the whole backup first and writes nothing when
 * it is damaged, too new (AppError `invalid`) or the folder is not empty (`conflict`). The caller holds the
 * folder's lock or knows that nobody else uses it.
 */
export async function restoreFrom(path: string, folder: string, log: Log): Promise<Verification> {
  const verification = await verifyBackup(path)
  if (!verification.ok) {
    throw new AppError('invalid', `the backup is damaged: ${verification.faults.slice(0, 10).join('; ')}`)
  }
  requireKnownSchema(verification.schema, schemaAfter(migrations))
  await openPrivateFolder(folder, log)
  const there = (await readdir(folder)).filter((name) => !staying.includes(name))
  if (there.length > 0) {
    throw new AppError(
      'conflict',
      `the folder to restore to is not empty: it holds ${there.slice(0, 3).join(', ')}`,
    )
  }
  await layState(folder, withSegment(path))
  return verification
}

/**
 * Writes a state to a folder that holds none: a snapshot whose journal begins with segment 1, and that
 * segment. Until all of it is there, a draft file marks the folder as unfinished.
 */
export async function layState(folder: string, text: AsyncIterable<string | Buffer>): Promise<void> {
  try {
    await replaceFile(join(folder, snapshotName), andSegment(folder, text), {
      draft: join(folder, unfinishedRestoreName),
    })
  } catch (error) {
    await rm(join(folder, segmentName(1)), { force: true })
    throw error
  }
}

async function* andSegment(
  folder: string,
  text: AsyncIterable<string | Buffer>,
): AsyncGenerator<string | Buffer> {
  yield* text
  await (await createSegment(folder, 1, randomId())).close()
}

/** Yields the bytes of a backup, with a header that names the first journal segment. */
async function* withSegment(path: string): AsyncGenerator<string | Buffer> {
  let headerEnd = 0
  let header: SnapshotHeader | undefined
  await readChecked(path, (line) => {
    if (line.number > 1) return
    header = line.value as SnapshotHeader
    headerEnd = line.end
  })
  yield opensBatch + lineOf({ ...header!, segment: 1 } satisfies SnapshotHeader)
  for await (const chunk of createReadStream(path, { start: headerEnd })) yield chunk as Buffer
}
