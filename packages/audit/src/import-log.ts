/** Turns files of a log into lines of the ledger, byte for byte, so that chain and signatures still hold; and back. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { openPrivateFolder, replaceFile } from '#leaf/files.ts'
import type { Log } from '#leaf/log.ts'
import type { LedgerLine, LedgerWriter, SharedLedger } from '#state/store.ts'
import { publicKeyName, publicKeysOf, publicTextsIn } from './checkpoint.ts'
import { lastLineOf, ledgerLine, writerIds } from './ledger/ledger-lines.ts'
import { lineHash, parseLine } from './line.ts'
import { FileLedger, fileWriter } from './files/file-ledger.ts'
import { logFileName } from './files/log-files.ts'
import { verifyAudit } from './verifying/verify.ts'

const atOnce = 1_000
/** The file, beside those of a writer, that holds its name for people. */
const writerName = 'writer'

/** Returns the writer that owns the key of a folder: the ledger's, or a new one with the name of that key. */
export async function writerOf(ledger: SharedLedger, folder: string, key: string): Promise<string> {
  const keysHere = publicKeysOf(await publicTextsIn(folder)).all
  const found = (await ledger.writers()).find(({ keys }) => {
    const { id, all } = publicKeysOf(keys)
    // After a change of keys that was cut off, the ledger already knows the next key.
    return id === key || (all.has(key) && keysHere.has(key))
  })
  return found?.id ?? key
}

/** Returns the folder, below another one, for the log of a writer. AppError `invalid` when it would not be below. */
export function folderOfWriter(folder: string, { id }: Pick<LedgerWriter, 'id'>): string {
  if (writerIds.test(id)) return join(folder, id)
  throw new AppError('invalid', `the database names a daemon ${JSON.stringify(id)}: no daemon has such an id`)
}

/** Adds a folder's files to the ledger as lines of a writer, without those that it already has; returns how many came. */
export async function importLog(
  folder: string,
  ledger: SharedLedger,
  writer: { readonly id: string; readonly name: string },
  log: Log,
): Promise<number> {
  let { seq: last } = await lastLineOf(ledger, writer.id)
  if ((await lastLineOf(new FileLedger(folder), fileWriter)).seq <= last) return 0
  const { faults } = await verifyAudit(folder)
  if (faults.length > 0)
    log.error('the files of the audit log are not whole; what there is comes into the database', { faults })
  await ledger.enter({ ...writer, keys: await publicTextsIn(folder) })
  let count = 0
  let lines: LedgerLine[] = []
  const send = async (): Promise<void> => {
    if (lines.length === 0) return
    if (!(await ledger.add({ writer: writer.id, lines }, last)))
      throw new AppError('conflict', `the audit log in the database does not end at line ${last}`)
    last = lines.at(-1)!.seq
    count += lines.length
    lines = []
  }
  for await (const read of new FileLedger(folder).read({}))
    for (const { bytes, complete } of read) {
      const line = complete ? parseLine(bytes) : undefined
      if (!line || line.seq <= (lines.at(-1)?.seq ?? last)) continue
      lines.push(ledgerLine(bytes.toString('utf8')))
      if (lines.length === atOnce) await send()
    }
  await send()
  log.info('the files of the audit log are in the database now, and read no more', { lines: count, folder })
  return count
}

/** Writes the lines that a folder lacks to a file there; returns whether any did. AppError `conflict` if it has another log. */
export async function exportLog(
  ledger: SharedLedger,
  writer: LedgerWriter,
  folder: string,
  log: Log,
): Promise<boolean> {
  await openPrivateFolder(folder, log)
  const keys = [...publicKeysOf(writer.keys).all]
  for (const [index, [id, key]] of keys.entries()) {
    const name = index === keys.length - 1 ? publicKeyName : `key-${id}.pub.pem`
    await replaceFile(join(folder, name), key.export({ type: 'spki', format: 'pem' }) as string)
  }
  await replaceFile(join(folder, writerName), `${writer.name}\n`)
  const { seq: after, hash } = await lastLineOf(new FileLedger(folder), fileWriter)
  if (after > 0 && after >= writer.first) {
    for await (const [row] of ledger.read({ writer: writer.id, after: after - 1 })) {
      if (row && lineHash(row.bytes) === hash) break
      throw new AppError('conflict', `${folder} holds another audit log; name another folder`)
    }
  }
  const rows = ledger.read({ writer: writer.id, after })
  const { value: begin } = (await rows.next()) as { readonly value: readonly LedgerLine[] | undefined }
  if (!begin?.[0]) return false
  const [{ seq, at }] = begin
  await replaceFile(join(folder, logFileName(seq, isoTime(at).slice(0, 10))), textOf(begin, rows))
  return true
}

async function* textOf(
  begin: readonly LedgerLine[],
  rest: AsyncIterable<readonly LedgerLine[]>,
): AsyncGenerator<Buffer> {
  const text = (lines: readonly LedgerLine[]): Buffer =>
    Buffer.from(lines.map(({ line }) => `${line}\n`).join(''))
  yield text(begin)
  for await (const lines of rest) yield text(lines)
}

/** Returns the logs that were exported into subfolders of a folder, with the ids of their writers. */
export async function exportedLogs(
  folder: string,
): Promise<readonly { readonly id: string; readonly name: string; readonly folder: string }[]> {
  const names: readonly string[] = await readdir(folder).catch(() => [])
  const found = await Promise.all(
    names.map(async (id) => {
      const name = await readFile(join(folder, id, writerName), 'utf8').catch(() => undefined)
      return name === undefined ? [] : [{ id, name: name.trim(), folder: join(folder, id) }]
    }),
  )
  return found.flat()
}
