/** Reads attached files (D7): each in a process of its own, which has the bytes and nothing else. */
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import type { Isolation } from '../isolation/bubblewrap.ts'
import { type TurnTaker, cancelled } from '#leaf/fair-queue.ts'
import { maxLine } from '../isolation/frames.mjs'
import { OneJob } from '../isolation/one-job.ts'
import { spawnChild } from '../isolation/spawned.ts'
import type { SandboxSettings } from '../settings.ts'
import { objectWith } from '#leaf/object-schema.ts'

/** The part of a file to read; pages count from 1, text in characters, rows after the header. */
export interface FilePart {
  readonly firstPage: number
  readonly lastPage: number
  readonly textOffset: number
  readonly textLimit: number
  readonly rowOffset: number
  readonly rowLimit: number
  /** The most bytes of the answer; rows are left out until it fits. */
  readonly maxBytes: number
}

const worker = join(import.meta.dirname, 'worker.mjs')
const count = { type: 'integer', minimum: 0 } as const
const contentSchema = objectWith(
  {
    kind: { enum: ['pdf', 'docx', 'xlsx', 'pptx', 'csv', 'json', 'txt', 'image'] },
    pages: { type: 'array', items: objectWith({ page: count, text: { type: 'string' } }) },
    page_count: count,
    // The length of the text on the requested pages.
    text_length: count,
    // Sheets, tables on pages, or the rows of a CSV or JSON file; `row_count` counts all rows, `rows` has the part asked for.
    tables: {
      type: 'array',
      items: objectWith(
        {
          name: { type: 'string' },
          columns: { type: 'array', items: { type: 'string' } },
          rows: { type: 'array', items: { type: 'array' } },
          row_count: count,
        },
        { page: count },
      ),
    },
    table_count: count,
  },
  {
    // The number of rows of each table in the answer, where more were requested than fit.
    rows_fit: count,
    // Notes on things in the pages read that are uncertain or not as they look, with their places.
    notes: { type: 'array', items: { type: 'string', maxLength: 300 } },
  },
) satisfies JSONSchema
const check = compileSchema({
  oneOf: [
    objectWith({ fault: { type: 'string', maxLength: 2000 } }),
    objectWith({ kind: { const: 'image' } }),
    contentSchema,
  ],
})

const rowsSchema = objectWith({
  rows: {
    type: 'array',
    items: { type: 'array', minItems: 2, maxItems: 2, prefixItems: [count, { type: 'array' }], items: false },
  },
}) satisfies JSONSchema
const sheetSchema = objectWith({
  sheet: { type: 'string' },
  sheets: { type: 'array', items: { type: 'string' } },
  count,
}) satisfies JSONSchema
const checkRows = compileSchema({
  oneOf: [objectWith({ fault: { type: 'string', maxLength: 2000 } }), rowsSchema, sheetSchema],
})

/** A row of a sheet, behind its number; a cell without a value that can be relied on is `{ fault }`. */
export type SheetRow = readonly [number: number, cells: readonly unknown[]]

/** The rows of one sheet, without empty ones. */
export interface Sheet extends FromSchema<typeof sheetSchema> {
  readonly rows: readonly SheetRow[]
}

/** The content of a file, cut to the requested part. */
export type FileContent = FromSchema<typeof contentSchema>

/** Reads files. */
export class Files extends OneJob {
  #isolation: Isolation
  #settings: SandboxSettings['files']

  constructor(isolation: Isolation, settings: SandboxSettings['files']) {
    super({
      isolation,
      worker,
      packages: ['yauzl', 'saxes', 'csv-parse/sync', 'unpdf'],
      memoryMb: settings.memory_mb,
      timeoutSeconds: settings.timeout_seconds,
      maxAnswerBytes: maxLine,
      what: 'reading the file',
    })
    this.#isolation = isolation
    this.#settings = settings
  }

  /** True if an OCR command is set. */
  get readsImages(): boolean {
    return this.#settings.ocr_command.length > 0
  }

  /** Reads a file. AppError `invalid` tells the fault of the file, `unavailable` that reading it overran its limits. */
  async read(name: string, bytes: Uint8Array, part: FilePart, caller: TurnTaker): Promise<FileContent> {
    this.#requireSize(bytes)
    const message = await this.run(caller, async (child) => {
      await child.send({ name, ...part, maxUnpacked: this.#settings.max_unpacked_bytes })
      await child.send(bytes)
      return await child.receive()
    })
    if (check(message).length > 0) throw new AppError('unavailable', 'the file could not be read')
    const answer = message as FileContent | { fault: string }
    if ('fault' in answer) throw new AppError('invalid', `the file ${answer.fault}`)
    return answer.kind === 'image'
      ? { kind: 'image', pages: [], page_count: 0, text_length: 0, tables: [], table_count: 0 }
      : answer
  }

  /** Reads all rows of one sheet of an Excel file, by default the first. AppError as `read` throws it. */
  async readSheet(
    name: string,
    bytes: Uint8Array,
    sheet: string | undefined,
    caller: TurnTaker,
  ): Promise<Sheet> {
    this.#requireSize(bytes)
    return await this.run(caller, async (child) => {
      const maxUnpacked = this.#settings.max_unpacked_bytes
      await child.send({ name, maxUnpacked, rows: true, ...(sheet !== undefined && { sheet }) })
      await child.send(bytes)
      const rows: SheetRow[] = []
      for (;;) {
        const message = await child.receive()
        if (checkRows(message).length > 0) throw new AppError('unavailable', 'the file could not be read')
        const said = message as
          { fault: string } | { rows: readonly SheetRow[] } | FromSchema<typeof sheetSchema>
        if ('fault' in said) throw new AppError('invalid', `the file ${said.fault}`)
        if (!('rows' in said)) return { ...said, rows }
        for (const row of said.rows) rows.push(row)
      }
    })
  }

  /** Reads the text in an image. `{language}` in the command is replaced. AppError `unavailable` without a command. */
  async readImage(bytes: Uint8Array, language: string, caller: TurnTaker): Promise<string> {
    if (!this.readsImages)
      throw new AppError(
        'unavailable',
        'images cannot be read here: no OCR command is set (analysis.files.ocr_command)',
      )
    return await this.queue.use(caller, () => this.#recognize(bytes, language, caller))
  }

  #requireSize({ length }: Uint8Array): void {
    const { max_bytes: most } = this.#settings
    if (length > most) throw new AppError('invalid', `the file is larger than ${most} bytes`)
  }

  async #recognize(bytes: Uint8Array, language: string, caller: TurnTaker): Promise<string> {
    const child = spawnChild({
      isolation: this.#isolation,
      view: {
        show: [],
        showIfThere: ['/etc/fonts'],
        environment: { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8', OMP_THREAD_LIMIT: '1' },
      },
      program: this.#settings.ocr_command.map((word) => word.replaceAll('{language}', language)),
      limits: {
        dataBytes: 1024 * 1_048_576,
        fileBytes: 0,
        openFiles: 64,
        cpuSeconds: this.#settings.timeout_seconds,
      },
      input: bytes,
      maxMessageBytes: 1,
      maxOutputBytes: 2_000_000,
    })
    try {
      await child.within(this.#settings.timeout_seconds * 1000, 'took too long', () =>
        child.workFor(caller, () => child.finished),
      )
    } finally {
      child.kill()
    }
    if (caller.signal.aborted) throw cancelled()
    if (child.status !== 'ended with code 0')
      throw new AppError('unavailable', `the OCR command ${child.status}`)
    return child.output.toString('utf8').trim()
  }
}
