/** Whether the log is whole and nobody changed it: numbers, chain, signatures, beginning and end. */
import type { AuditVerification } from './verification.ts'
import { ChainCheck } from './chain-check.ts'
import { openPublicKeys, readHead } from './checkpoint.ts'
import type { KnownLine, KnownLog } from './known-log.ts'
import { isThere, listLogFiles, readLogFile } from './log-files.ts'

/** What is known of a log from elsewhere, so that not even the whole folder can be changed unnoticed. */
export interface Witnesses {
  /** What the state knows. */
  readonly known?: KnownLog | undefined
  /** Lines that were sent away when they were written. */
  readonly anchors?: readonly KnownLine[]
  /** It is the part of one daemon of a log that lay in a database: others tell what was removed of it, and where it ends. */
  readonly exported?: boolean
}

/** Reads the whole log. May be asked while it is being written. */
export async function verifyAudit(
  folder: string,
  { known, anchors = [], exported = false }: Witnesses = {},
): Promise<AuditVerification> {
  // The head first: what is written after this only makes the log longer.
  const keys = await openPublicKeys(folder)
  const head = await readHead(folder, keys)
  const files = await listLogFiles(folder)
  const check = new ChainCheck(keys, [head === 'forged' ? undefined : head, known, ...anchors])
  if (known) check.state(known, keys)
  if (head === 'forged') check.fault('head.json:1', 'the signature does not hold')
  for (const [index, file] of files.entries()) {
    const isLast = index === files.length - 1
    const before = check.lines
    check.begin(file)
    for await (const lines of readLogFile(file)) for (const line of lines) check.line(file, line, isLast)
    if (check.lines === before && !isLast && !(await isThere(file))) check.pruned(files[index + 1]!)
  }
  if (exported && files[0]) check.prunedThrough(files[0].first - 1)
  return check.end(`${files[0]?.name}:1`, files.length, exported ? 'elsewhere' : head)
}
