/** Drawing charts (D7): Vega-Lite in a process of its own, over data that is handed to it. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { compileSchema } from '../../core/schema.ts'
import type { Isolation } from '../sandbox/bubblewrap.ts'
import { installed } from '../sandbox/node-program.ts'
import { OneJob } from '../sandbox/one-job.ts'
import type { Load } from '../sandbox/slots.ts'
import type { AnalysisSettings } from '../settings.ts'
import type { ChartPoint } from './chart-data.ts'

/** What a picture can be; PNG only where the machine has what draws it. */
export type ChartFormat = 'png' | 'svg'

/** A drawn chart. */
export interface ChartImage {
  readonly mimeType: 'image/png' | 'image/svg+xml'
  /** Base64. */
  readonly data: string
}

const worker = join(import.meta.dirname, 'worker.mjs')
const check = compileSchema({
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: { format: { enum: ['svg', 'png'] }, fault: { type: 'string' } },
})

/** The drawer of charts. */
export class Charts {
  /** Why PNG is not possible here, when it is not; SVG always is. */
  readonly noPng: string | undefined
  #settings: AnalysisSettings['charts']
  #jobs: OneJob

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
    return this.#jobs.load()
  }

  async probe(): Promise<void> {
    await this.#jobs.probe()
  }

  async close(): Promise<void> {
    await this.#jobs.close()
  }

  /** AppError `invalid` says what is wrong with the specification, `unavailable` that drawing overran its limits. */
  async draw(
    spec: Readonly<Record<string, unknown>>,
    points: readonly ChartPoint[],
    wanted: ChartFormat,
    signal: AbortSignal,
  ): Promise<ChartImage> {
    const format = wanted === 'png' && this.noPng === undefined ? 'png' : 'svg'
    const rows = points.slice(0, this.#settings.max_points)
    return await this.#jobs.run(signal, async (child) => {
      await child.send({ spec, rows, format })
      const answer = await child.receive()
      if (check(answer).length > 0) throw new AppError('unavailable', 'the chart could not be drawn')
      const drawn = answer as { readonly format: ChartFormat } | { readonly fault: string }
      if ('fault' in drawn) throw new AppError('invalid', `the chart cannot be drawn: ${drawn.fault}`)
      const picture = await child.receiveBytes()
      return {
        mimeType: drawn.format === 'png' ? 'image/png' : 'image/svg+xml',
        data: picture.toString('base64'),
      }
    })
  }
}

/** A PNG without fonts would have no words in it. */
function pngObstacle(): string | undefined {
  if (installed('@resvg/resvg-js') === undefined)
    return 'the optional package @resvg/resvg-js is not installed'
  try {
    const fonts = readdirSync('/usr/share/fonts', { recursive: true, encoding: 'utf8' })
    if (fonts.some((file) => /\.(ttf|otf|ttc)$/i.test(file))) return undefined
  } catch {
    // No such folder: no fonts.
  }
  return 'no fonts are installed (apt-get install fonts-dejavu-core)'
}
