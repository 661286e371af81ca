/**
 * How far a journal has come, beside it: a line that is written over with each batch and never waited for. Whatever
 * takes acknowledged transactions off the end of the journal is seen by it. After a loss of power it may be older than
 * the journal, and then says nothing.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { privateFile } from '../core/files.ts'
import { lineOf, opensBatch, readChecked } from './lines.ts'

/** What it is called. */
export const journalHeadName = 'journal.head'

interface Head {
  /** The journal's own name: another state may come to lie here. */
  readonly of: string
  /** The number of the last transaction on disk, as a text of fixed length. */
  readonly n: string
}

/** Says how far a journal has come. */
export class JournalHead {
  readonly #path: string
  readonly #of: string
  #file: number | undefined

  constructor(folder: string, of: string) {
    this.#path = join(folder, journalHeadName)
    this.#of = of
  }

  note(last: number): void {
    try {
      this.#file ??= openSync(this.#path, 'w', privateFile)
      const head: Head = { of: this.#of, n: String(last).padStart(16, '0') }
      writeSync(this.#file, opensBatch + lineOf(head), 0)
    } catch {
      // Who has no room for a line here has none in the journal either, which is told.
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}

/** How far a journal of any name is known to have come; undefined when nothing says so. */
export async function readJournalHead(folder: string): Promise<Head | undefined> {
  let head: Head | undefined
  await readChecked(join(folder, journalHeadName), ({ fault, value }) => {
    if (fault === undefined) head = value as Head
  }).catch(() => 0)
  return head
}
