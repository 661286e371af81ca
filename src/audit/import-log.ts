/** Files of a log become lines of the ledger, byte for byte, so that chain and signatures still hold; and lines become files. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { openPrivateFolder, replaceFile } from '../core/files.ts'
import type { Log } from '../core/log.ts'
import type { Ledger, LedgerLine, LedgerWriter } from '../store/ledger.ts'
import { publicKeyName, publicKeysOf, publicTextsIn } from './checkpoint.ts'
import { ledgerLine } from './ledger-lines.ts'
import { lastLineOf } from './ledger-writer.ts'
import { lineHash, parseLine } from './line.ts'
import { logEnd } from './log-end.ts'
import { listLogFiles, type LogFile, logFileName, readLogFile } from './log-files.ts'
import { verifyAudit } from './verify.ts'

const atOnce = 1_000
/** Where, beside the files of a writer, its name for people lies. */
const writerName = 'writer'

/** The writer to whom the key of a folder belongs: the ledger's, or a new one with the name of that key. */
export async function writerOf(ledger: Ledger, folder: string, key: string): Promise<string> {
  const keysHere = publicKeysOf(await publicTextsIn(folder)).all
  const found = (await ledger.writers()).find(({ keys }) => {
    const { id, all } = publicKeysOf(keys)
    // After a change of keys that was cut off, the ledger knows the next key already.
    return id === key || (all.has(key) && keysHere.has(key))
  })
  return found?.id ?? key
}

/** Takes the files of a folder into the ledger as lines of a writer, as far as it has not got them; answers how many came. */
export async function importLog(
  folder: string,
  ledger: Ledger,
  writer: { readonly id: string; readonly name: string },
  log: Log,
): Promise<number> {
  const files = await listLogFiles(folder)
  let { seq: last } = await lastLineOf(ledger, writer.id)
  if ((await endOfFiles(files)).seq <= last) return 0
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
  for (const file of files) {
    for await (const read of readLogFile(file)) {
      for (const { bytes, complete } of read) {
        const line = complete ? parseLine(bytes) : undefined
        if (!line || line.seq <= (lines.at(-1)?.seq ?? last)) continue
        lines.push(ledgerLine(bytes.toString('utf8')))
        if (lines.length === atOnce) await send()
      }
    }
  }
  await send()
  log.info('the files of the audit log are in the database now, and read no more', { lines: count, folder })
  return count
}

/** Writes the lines of a writer that a folder has not got into a file there; answers whether there were any. AppError `conflict` when the folder holds another log. */
export async function exportLog(
  ledger: Ledger,
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
  const files = await listLogFiles(folder)
  const { seq: after, hash } = await endOfFiles(files)
  if (after > 0 && after >= writer.first) {
    for await (const [row] of ledger.read({ writer: writer.id, after: after - 1 })) {
      if (row && lineHash(row.line) === hash) break
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

/** The logs that were exported into folders of one folder, by the ids of their writers. */
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

async function endOfFiles(
  files: readonly LogFile[],
): Promise<{ readonly seq: number; readonly hash: string }> {
  for (const file of files.toReversed()) {
    const { last } = await logEnd(file)
    if (last) return last
  }
  return { seq: 0, hash: '' }
}
