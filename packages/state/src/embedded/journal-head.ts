/**
 * The journal head: a file beside the journal with the number of its last transaction, overwritten with each batch and
 * never synced. It reveals when acknowledged transactions are lost from the end of the journal. After a loss of power it
 * may be older than the journal, and then says nothing.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { privateFile } from '#leaf/files.ts'
import { lineOf, opensBatch, readChecked } from './checked-lines.ts'

/** The file's name. */
export const journalHeadName = 'journal.head'

interface Head {
  /** The journal's own name: another state may come to lie in this folder. */
  readonly of: string
  /** The number of the last transaction on disk, as a text of fixed length. */
  readonly n: string
}

/** Writes the head of a journal. */
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
      // A disk with no room for this line has none for the journal either, and that is reported.
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}

/** Reads the journal head, of a journal of any name; undefined when there is none or it is damaged. */
export async function readJournalHead(folder: string): Promise<Head | undefined> {
  let head: Head | undefined
  await readChecked(join(folder, journalHeadName), ({ fault, value }) => {
    if (fault === undefined) head = value as Head
  }).catch(() => 0)
  return head
}
