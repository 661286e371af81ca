/** Compares the end of a log, when it is opened, with what its daemon left there. */
import type { RawLine } from '#state/lines.ts'
import { isCheckpoint, isClosing, type PublicKeys } from '../checkpoint.ts'
import type { AuditLine } from '../audit.ts'
import type { KnownLine } from './known-log.ts'
import { lineHash, parseLine } from '../line.ts'

/** Returns the fault of the last lines, given from the end backward; undefined for none. After this they are signed. */
export async function strangeTail(
  lines: AsyncIterable<readonly RawLine[]>,
  keys: PublicKeys,
  known: readonly KnownLine[],
): Promise<string | undefined> {
  const unsigned: AuditLine[] = []
  let checkpoint: AuditLine | undefined
  const least = Math.min(...known.map(({ seq }) => seq).filter((seq) => seq > 0))
  for await (const read of lines)
    for (const { bytes, complete } of read) {
      const line = complete ? parseLine(bytes) : undefined
      // The remains of a crash are put aside.
      if (!line) continue
      const hash = lineHash(bytes)
      if (known.some((one) => one.seq === line.seq && one.hash !== hash))
        return `line ${line.seq} is not the one that had been signed`
      if (!checkpoint && isCheckpoint(line, keys)) checkpoint = line
      if (!checkpoint) unsigned.push(line)
      if (checkpoint && line.seq <= least) return strangeness(unsigned, checkpoint)
    }
  return strangeness(unsigned, checkpoint)
}

function strangeness(unsigned: readonly AuditLine[], checkpoint: AuditLine | undefined): string | undefined {
  if (checkpoint && isClosing(checkpoint) && unsigned.length > 0)
    return `lines ${checkpoint.seq + 1} to ${unsigned[0]!.seq} were added while nothing ran`
  // A daemon signs its record of a removal together with it.
  const prune = unsigned.find(({ type, again }) => type === 'audit.prune' && again === undefined)
  return prune && `line ${prune.seq} says that lines were removed, and is not signed`
}
