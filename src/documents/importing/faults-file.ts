/** The file of faults beside a file that is imported. */
import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { csvLine } from '#leaf/csv.ts'
import { AppError, messageOf } from '#leaf/errors.ts'
import { replaceFile } from '#leaf/files.ts'
import type { FaultyRow } from './plan.ts'
import { readCsv } from '#rows/read-csv.ts'
import type { ImportSource } from '#rows/source.ts'
import { faultColumns } from './mapping.ts'

/**
 * The file of faults: the rows that were left out, as they stand, behind the line, the column and the words of their
 * faults. Once they are mended it can be imported itself. None is left when there is no fault.
 */
export class FaultsFile {
  readonly name: string
  readonly #isJson: boolean
  /** The columns of the row by their places, without those of an earlier file of faults. */
  readonly #columns: readonly (readonly [place: number, name: string])[]
  #file: FileHandle | undefined
  #isEmpty = true

  private constructor(path: string, { format, columns }: ImportSource) {
    this.#isJson = format === 'jsonl'
    const isOwn = (name: string): boolean => (faultColumns as readonly string[]).includes(name)
    this.#columns = [...columns.entries()].filter(([, name]) => !isOwn(name))
    this.name = `${path}.faults.${this.#isJson ? 'jsonl' : 'csv'}`
  }

  /** Opens the file beside another one, with the first `kept` rows of an earlier run. */
  static async open(path: string, source: ImportSource, kept: number): Promise<FaultsFile> {
    const faults = new FaultsFile(path, source)
    const before = kept > 0 ? await faults.#first(kept) : []
    try {
      await replaceFile(faults.name, before.join(''))
      faults.#file = await open(faults.name, 'a')
    } catch (error) {
      throw new AppError('forbidden', `${faults.name} cannot be written: ${messageOf(error)}`, {
        cause: error,
      })
    }
    faults.#isEmpty = before.length === 0
    return faults
  }

  async add(rows: readonly FaultyRow[]): Promise<void> {
    if (rows.length === 0) return
    const header = this.#isEmpty && !this.#isJson ? this.#header() : ''
    this.#isEmpty = false
    await this.#file!.appendFile(header + rows.map((row) => this.#line(row)).join(''))
    // What is answered for must be there when the next batch is sent.
    await this.#file!.datasync()
  }

  async close(): Promise<void> {
    await this.#file!.close()
    if (this.#isEmpty) await rm(this.name)
  }

  #header(): string {
    return `${csvLine([...faultColumns, ...this.#columns.map(([, name]) => name)])}\n`
  }

  #line({ line, column, faults, original }: FaultyRow): string {
    const isOne = faults.length === 1
    const fault = faults
      .map((one) => (isOne ? one.message : `${one.line}:${one.column} ${one.message}`))
      .join('; ')
    const own = [line, column, fault]
    if (this.#isJson) {
      const named = faultColumns.map((name, index) => [name, own[index]])
      return `${JSON.stringify({ ...(original as object), ...Object.fromEntries(named) })}\n`
    }
    const cells = original as readonly unknown[]
    return `${csvLine([...own, ...this.#columns.map(([place]) => cells[place])])}\n`
  }

  /** Returns the first lines of the file as it was left, its header included. */
  async #first(kept: number): Promise<string[]> {
    const lines: string[] = []
    try {
      if (this.#isJson) {
        const all = (await readFile(this.name, 'utf8')).split('\n')
        return all.slice(0, kept).map((line) => `${line}\n`)
      }
      const form = { encoding: 'utf-8', delimiter: ',', headerLine: 1 }
      for await (const { cells } of readCsv(this.name, form)) {
        lines.push(`${csvLine(cells)}\n`)
        if (lines.length > kept) break
      }
    } catch {
      // Somebody removed it: what it said is lost, but not what was imported.
    }
    return lines
  }
}
