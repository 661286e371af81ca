/** Draws charts (D7): Vega-Lite in a process of its own, over data that is handed to it. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { compileSchema } from '#leaf/schema.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { Isolation } from '../isolation/bubblewrap.ts'
import type { Child } from '../isolation/child.ts'
import { installed } from '../isolation/node-program.ts'
import { OneJob } from '../isolation/one-job.ts'
import type { Decimal } from '#leaf/decimal.ts'
import type { TurnTaker } from '#leaf/fair-queue.ts'
import type { SandboxSettings } from '../settings.ts'
import { specificationFault } from '../chart-specification.ts'
import { isoWeek } from '#leaf/weeks.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { WrittenJson } from '#leaf/written-json.ts'

/** The format of a picture; PNG only where the machine has a renderer for it. */
export type ChartFormat = 'png' | 'svg'

/** One mark of a chart. */
export interface ChartPoint {
  readonly label: string
  /** An amount of money is a decimal: it is drawn as a number, and told with every digit. */
  readonly value: number | Decimal
  /** The series that it belongs to, where there are several. */
  readonly series?: string
}

/** A drawn chart. */
export interface ChartImage {
  readonly mimeType: 'image/png' | 'image/svg+xml'
  /** Base64. */
  readonly data: string
  /** An id that is equal for the same picture of the same data. */
  readonly id: string
  /** Set where it shows only a part of the points: how many of how many. It stands in the picture, too. */
  readonly part?: string
}

/** The look of a picture, and the seconds to draw it. */
export interface Look {
  readonly seconds?: number | undefined
  /** True for light on a dark ground, as the pages are for people who prefer that. */
  readonly dark?: boolean
  /** True for the width of a phone. */
  readonly narrow?: boolean
}

type Specification = Readonly<Record<string, unknown>>
type Configuration = Record<string, Readonly<Record<string, unknown>>>

/** Of more points, labels that would cover each other are left out. */
const roomyPoints = 100

/** The most bytes of pictures that are cached for repeated requests. */
const keptBytes = 16_000_000

const worker = join(import.meta.dirname, 'worker.mjs')
const check = compileSchema({
  ...objectWith({}, { format: { enum: ['svg', 'png'] }, fault: { type: 'string' } }),
  minProperties: 1,
  maxProperties: 1,
})

/** Returns a specification in the look of the pages; its own choices stay. */
function inLook(
  spec: Specification,
  { dark, narrow, crowded }: Look & { readonly crowded: boolean },
): Specification {
  const config = { ...(dark && onDarkGround) }
  if (crowded) config['axis'] = { ...config['axis'], labelOverlap: 'greedy' }
  if (narrow) for (const [part, look] of Object.entries(onPhone)) config[part] = { ...config[part], ...look }
  const own = spec['config']
  return {
    ...(dark && { background: ground }),
    ...spec,
    ...(narrow && narrowed(spec)),
    config: { ...config, ...(typeof own === 'object' ? own : {}) },
  }
}

/** Writes under the title that only a part is shown. */
function under(part: string | undefined, spec: Specification): Specification {
  if (part === undefined) return spec
  const { title } = spec
  const own = typeof title === 'object' && !Array.isArray(title) ? title : { text: title ?? '' }
  return { ...spec, title: { ...own, subtitle: part } }
}

const [ground, text, line] = ['#1d222b', '#e8ebf1', '#3a4250']
const words = { labelColor: text, titleColor: text }
/** The colours of the dark pages. */
const onDarkGround: Configuration = {
  axis: { ...words, domainColor: line, gridColor: line, tickColor: line },
  legend: words,
  header: words,
  title: { color: text, subtitleColor: text },
  text: { color: text },
  view: { stroke: line },
}

/** The width for a phone, where letters are then as large as they are here, and legends lie below. */
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

/** Draws charts. */
export class Charts extends OneJob {
  /** The reason why PNG is not possible here, if so; SVG always is. */
  readonly noPng: string | undefined
  #settings: SandboxSettings['charts']
  #kept = new Map<string, ChartImage>()
  #keptBytes = 0

  constructor(isolation: Isolation, settings: SandboxSettings['charts']) {
    super({
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
    this.#settings = settings
    this.noPng = pngObstacle()
  }

  /**
   * Draws a specification, in so many seconds at most. AppError `invalid` tells the fault of the
   * specification, or that drawing it overran its limits.
   */
  async draw(
    chosen: Specification,
    points: readonly ChartPoint[],
    wanted: ChartFormat,
    caller: TurnTaker,
    look: Look = {},
  ): Promise<ChartImage> {
    const { max_points: most, timeout_seconds: longest } = this.#settings
    const { seconds = longest } = look
    const part = points.length > most ? `the first ${most} of ${points.length} points` : undefined
    const rows = points
      .slice(0, most)
      .map((point) => ({ ...point, value: Number(point.value), ...isoWeek(point.label) }))
    const spec = under(part, inLook(chosen, { ...look, crowded: rows.length > roomyPoints }))
    const fault = specificationFault(chosen)
    if (fault !== undefined) throw new AppError('invalid', `the chart cannot be drawn: ${fault}`)
    const format = wanted === 'png' && this.noPng === undefined ? 'png' : 'svg'
    const job = { spec, rows, format }
    const written = new WrittenJson(JSON.stringify(job), () => job)
    // Callers with the same specification and the same numbers may share the picture.
    const id = sha256(written.text)
    const kept = this.#kept.get(id)
    const image =
      kept ??
      (await this.run(
        caller,
        async (child) => {
          await child.send(written)
          return { ...(await pictureOf(child, id)), ...(part !== undefined && { part }) }
        },
        Math.min(seconds, longest),
      ))
    this.#keep(image)
    return image
  }

  /** Caches an image; those requested last stay. */
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

/** Tells why PNG is not possible: without fonts a picture would have no words. */
function pngObstacle(): string | undefined {
  if (installed('@resvg/resvg-js') === undefined)
    return 'the optional package @resvg/resvg-js is not installed'
  return hasFonts() ? undefined : 'no fonts are installed (apt-get install fonts-dejavu-core)'
}

/** The folders that are searched for fonts for charts. */
export const fontFolders = ['/usr/share/fonts', '/usr/local/share/fonts']

/** True if this machine has fonts. */
export function hasFonts(): boolean {
  return fontFolders.some((folder) => {
    try {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      return files.some((name) => /\.(ttf|otf|ttc)$/i.test(name))
    } catch {
      // The folder does not exist.
      return false
    }
  })
}
