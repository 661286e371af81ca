/** Drawing charts (D7): Vega-Lite in a process of its own, over data that is handed to it. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { compileSchema } from '../../core/schema.ts'
import { sha256 } from '../../core/secrets.ts'
import type { Isolation } from '../sandbox/bubblewrap.ts'
import type { Child } from '../sandbox/child.ts'
import { installed } from '../sandbox/node-program.ts'
import { OneJob } from '../sandbox/one-job.ts'
import type { TurnTaker, Load } from '../../core/fair-queue.ts'
import type { AnalysisSettings } from '../settings.ts'
import type { ChartPoint } from './chart-data.ts'
import { specificationFault } from '../../core/chart-specification.ts'
import { isoWeek } from './weeks.ts'
import { objectWith } from '../../core/object-schema.ts'

/** What a picture can be; PNG only where the machine has what draws it. */
export type ChartFormat = 'png' | 'svg'

/** A drawn chart. */
export interface ChartImage {
  readonly mimeType: 'image/png' | 'image/svg+xml'
  /** Base64. */
  readonly data: string
  /** Equal for the same picture of the same data. */
  readonly id: string
}

/** How a picture is drawn, and in how many seconds. */
export interface Look {
  readonly seconds?: number | undefined
  /** Light on a dark ground, as the pages are where people ask for that. */
  readonly dark?: boolean
  /** For a phone. */
  readonly narrow?: boolean
}

type Specification = Readonly<Record<string, unknown>>
type Configuration = Record<string, Readonly<Record<string, unknown>>>

/** Bytes of pictures that are kept for whoever asks for the same one again. */
const keptBytes = 16_000_000

const worker = join(import.meta.dirname, 'worker.mjs')
const check = compileSchema({
  ...objectWith({}, { format: { enum: ['svg', 'png'] }, fault: { type: 'string' } }),
  minProperties: 1,
  maxProperties: 1,
})

/** A specification in the look of the pages; what it chooses itself stays. */
function inLook(spec: Specification, { dark, narrow }: Look): Specification {
  const config = { ...(dark && onDarkGround) }
  if (narrow) for (const [part, look] of Object.entries(onPhone)) config[part] = { ...config[part], ...look }
  const own = spec['config']
  return {
    ...(dark && { background: ground }),
    ...spec,
    ...(narrow && narrowed(spec)),
    config: { ...config, ...(typeof own === 'object' ? own : {}) },
  }
}

const [ground, text, line] = ['#1d222b', '#e8ebf1', '#3a4250']
const words = { labelColor: text, titleColor: text }
/** The colours of the pages. */
const onDarkGround: Configuration = {
  axis: { ...words, domainColor: line, gridColor: line, tickColor: line },
  legend: words,
  header: words,
  title: { color: text, subtitleColor: text },
  text: { color: text },
  view: { stroke: line },
}

/** No wider than a phone, where letters are then as large as they are here, and legends lie below. */
const phoneSide = 230
const onPhone: Configuration = {
  axis: { labelFontSize: 12, titleFontSize: 12, labelLimit: 90 },
  legend: { orient: 'bottom', columns: 2, labelFontSize: 13, titleFontSize: 13, labelLimit: 100 },
  title: { limit: 280 },
}

function narrowed({ width, height }: Specification): Specification {
  return {
    ...(typeof width === 'number' && { width: Math.min(width, phoneSide) }),
    ...(typeof height === 'number' && { height: Math.min(height, phoneSide) }),
  }
}

/** The drawer of charts. */
export class Charts {
  /** Why PNG is not possible here, when it is not; SVG always is. */
  readonly noPng: string | undefined
  #settings: AnalysisSettings['charts']
  #jobs: OneJob
  #kept = new Map<string, ChartImage>()
  #keptBytes = 0

  constructor(isolation: Isolation, settings: AnalysisSettings['charts']) {
    this.#settings = settings
    this.noPng = pngObstacle()
    this.#jobs = new OneJob({
      isolation,
      worker,
      packages: [
        'vega',
        'vega-interpreter',
        'vega-lite',
        ...(installed('@resvg/resvg-js') ? ['@resvg/resvg-js'] : []),
      ],
      memoryMb: settings.memory_mb,
      timeoutSeconds: settings.timeout_seconds,
      maxAnswerBytes: 16_000_000,
      what: 'drawing the chart',
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

  /**
   * A picture of a specification, drawn in so many seconds at most. AppError `invalid` says what is
   * wrong with the specification, or that drawing it overran its limits.
   */
  async draw(
    chosen: Specification,
    points: readonly ChartPoint[],
    wanted: ChartFormat,
    caller: TurnTaker,
    look: Look = {},
  ): Promise<ChartImage> {
    const { seconds = this.#settings.timeout_seconds } = look
    const spec = inLook(chosen, look)
    const fault = specificationFault(chosen)
    if (fault !== undefined) throw new AppError('invalid', `the chart cannot be drawn: ${fault}`)
    const format = wanted === 'png' && this.noPng === undefined ? 'png' : 'svg'
    const rows = points
      .slice(0, this.#settings.max_points)
      .map((point) => ({ ...point, ...isoWeek(point.label) }))
    // Who has the same specification and the same numbers may see the same picture.
    const id = sha256(JSON.stringify([format, spec, rows]))
    const kept = this.#kept.get(id)
    const image =
      kept ??
      (await this.#jobs.run(
        caller,
        async (child) => {
          await child.send({ spec, rows, format })
          return await pictureOf(child, id)
        },
        Math.min(seconds, this.#settings.timeout_seconds),
      ))
    this.#keep(image)
    return image
  }

  /** The ones asked for last stay. */
  #keep(image: ChartImage): void {
    if (!this.#kept.delete(image.id)) this.#keptBytes += image.data.length
    this.#kept.set(image.id, image)
    for (const [id, { data }] of this.#kept) {
      if (this.#keptBytes <= keptBytes) break
      this.#kept.delete(id)
      this.#keptBytes -= data.length
    }
  }
}

async function pictureOf(child: Child, id: string): Promise<ChartImage> {
  const answer = await child.receive()
  if (check(answer).length > 0) throw new AppError('unavailable', 'the chart could not be drawn')
  const drawn = answer as { readonly format: ChartFormat } | { readonly fault: string }
  if ('fault' in drawn) throw new AppError('invalid', `the chart cannot be drawn: ${drawn.fault}`)
  const picture = await child.receiveBytes()
  return {
    mimeType: drawn.format === 'png' ? 'image/png' : 'image/svg+xml',
    data: picture.toString('base64'),
    id,
  }
}

/** A PNG without fonts would have no words in it. */
function pngObstacle(): string | undefined {
  if (installed('@resvg/resvg-js') === undefined)
    return 'the optional package @resvg/resvg-js is not installed'
  return hasFonts() ? undefined : 'no fonts are installed (apt-get install fonts-dejavu-core)'
}

/** Where fonts for charts are looked for. */
export const fontFolders = ['/usr/share/fonts', '/usr/local/share/fonts']

/** Whether this machine has any. */
export function hasFonts(): boolean {
  return fontFolders.some((folder) => {
    try {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      return files.some((name) => /\.(ttf|otf|ttc)$/i.test(name))
    } catch {
      // No such folder: no fonts.
      return false
    }
  })
}
