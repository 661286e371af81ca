/** Reading attached files (D7): each in a process of its own, which has the bytes and nothing else. */
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '../../core/schema.ts'
import type { Isolation } from '../sandbox/bubblewrap.ts'
import { type TurnTaker, cancelled, type Load } from '../../core/fair-queue.ts'
import { maxLine } from '../sandbox/frames.mjs'
import { OneJob } from '../sandbox/one-job.ts'
import { spawnChild } from '../sandbox/spawned.ts'
import type { AnalysisSettings } from '../settings.ts'
import { objectWith } from '../../core/object-schema.ts'

/** Which part of a file to read; pages count from 1, text in characters, rows after the header. */
export interface FilePart {
  readonly firstPage: number
  readonly lastPage: number
  readonly textOffset: number
  readonly textLimit: number
  readonly rowOffset: number
  readonly rowLimit: number
  /** Of the answer; rows are left out until it is no longer. */
  readonly maxBytes: number
}

const worker = join(import.meta.dirname, 'worker.mjs')
const count = { type: 'integer', minimum: 0 } as const
const contentSchema = objectWith(
  {
    kind: { enum: ['pdf', 'docx', 'xlsx', 'pptx', 'csv', 'json', 'txt', 'image'] },
    pages: { type: 'array', items: objectWith({ page: count, text: { type: 'string' } }) },
    page_count: count,
    // Of the pages asked for.
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
    // How many rows of each table are there, where more were asked for than fit.
    rows_fit: count,
    // What is uncertain in the pages read, or not as it looks, and where.
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

/** What a file holds, cut to the part that was asked for. */
export type FileContent = FromSchema<typeof contentSchema>

/** The reader of files. */
export class Files {
  #isolation: Isolation
  #settings: AnalysisSettings['files']
  #jobs: OneJob

  constructor(isolation: Isolation, settings: AnalysisSettings['files']) {
    this.#isolation = isolation
    this.#settings = settings
    this.#jobs = new OneJob({
      isolation,
      worker,
      packages: ['yauzl', 'saxes', 'csv-parse/sync', 'unpdf'],
      memoryMb: settings.memory_mb,
      timeoutSeconds: settings.timeout_seconds,
      maxAnswerBytes: maxLine,
      what: 'reading the file',
    })
  }

  load(): Load {
    return this.#jobs.queue.load()
  }

  async probe(): Promise<void> {
    await this.#jobs.probe()
  }

  async close(): Promise<void> {
    await this.#jobs.close()
  }

  /** Whether an OCR command is set. */
  get readsImages(): boolean {
    return this.#settings.ocr_command.length > 0
  }

  /** AppError `invalid` says what is wrong with the file, `unavailable` that reading it overran its limits. */
  async read(name: string, bytes: Uint8Array, part: FilePart, caller: TurnTaker): Promise<FileContent> {
    if (bytes.length > this.#settings.max_bytes)
      throw new AppError('invalid', `the file is larger than ${this.#settings.max_bytes} bytes`)
    const message = await this.#jobs.run(caller, async (child) => {
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

  /** The text in an image. `{language}` in the command is replaced. AppError `unavailable` without a command. */
  async readImage(bytes: Uint8Array, language: string, caller: TurnTaker): Promise<string> {
    if (!this.readsImages)
      throw new AppError(
        'unavailable',
        'images cannot be read here: no OCR command is set (analysis.files.ocr_command)',
      )
    return await this.#jobs.queue.use(caller, () => this.#recognize(bytes, language, caller))
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
    const timer = setTimeout(() => child.kill('took too long'), this.#settings.timeout_seconds * 1000)
    try {
      await child.workFor(caller, () => child.finished)
    } finally {
      clearTimeout(timer)
      child.kill()
    }
    if (caller.signal.aborted) throw cancelled()
    if (child.status !== 'ended with code 0')
      throw new AppError('unavailable', `the OCR command ${child.status}`)
    return child.output.toString('utf8').trim()
  }
}
