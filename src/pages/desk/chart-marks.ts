/** Charts as pages draw them: each bar, sector and point leads to the documents behind it, without a script. */
import { canonical } from '#leaf/strict-json.ts'
import type { ChartPoint } from '#sandbox/sandbox.ts'
import { type ChartDefinition, isOverTime } from '../../analysis/chart-definition.ts'
import { colors, vegaLiteOf } from '#figures/vega-lite.ts'

/** The ways in which pages draw; a picture is drawn by the sandbox, for what its owner refined and for what has too many marks. */
type Way = 'bars' | 'round' | 'stack' | 'columns' | 'line' | 'picture'

/** Where a point stands in its drawing. */
export interface Mark {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  /** The outline of a sector. */
  readonly outline: string
  readonly color: string
  /** True where the number has room on the mark. */
  readonly isWide: boolean
}

/** A drawing of as many marks as there are points. */
export interface Marks {
  readonly way: Way
  readonly marks: readonly Mark[]
}

/** The most marks over time that can be told apart, and hit. */
const mostMarks = 120
/** The units of a drawing over time, and of one of shares. */
const [width, height] = [640, 240]
const radius = 100
const blank = { x: 0, y: 0, width: 0, height: 0, outline: '', color: '', isWide: false }
/** What is drawn as a picture instead. */
export const picture: Marks = { way: 'picture', marks: [] }

/** Returns where the points of a chart stand; `kept` is the specification that is stored with it. */
export function chartMarks(
  definition: ChartDefinition,
  points: readonly ChartPoint[],
  kept?: unknown,
): Marks {
  const told = Object.fromEntries(Object.entries(definition).filter(([, value]) => value !== null))
  const chart = told as unknown as ChartDefinition
  const values = points.map(({ value }) => Number(value))
  if ((kept ?? null) !== null && plain(kept) !== plain(vegaLiteOf(chart))) return picture
  if (values.some((value) => value < 0) || !values.some((value) => value > 0)) return picture
  const color = chart.color ?? ''
  if (isOverTime(chart)) return overTime(chart, points, values, color)
  if (chart.chart_type === 'bar') return { way: 'bars', marks: lengths(values, 100, color) }
  return shares(chart, values)
}

/** A chart is as it was made if only its titles are others: labels of fields change. */
function plain(spec: unknown): string {
  return canonical(
    JSON.parse(JSON.stringify(spec, (key, value: unknown) => (key === 'title' ? undefined : value))),
  )
}

function lengths(values: readonly number[], most: number, color: string): readonly Mark[] {
  const largest = Math.max(...values)
  return values.map((value) => ({ ...blank, color, width: rounded((value / largest) * most) }))
}

function overTime(
  { chart_type: type }: ChartDefinition,
  points: readonly ChartPoint[],
  values: readonly number[],
  color: string,
): Marks {
  if (type === 'heatmap' || points.length > mostMarks) return picture
  const tall = lengths(values, height - 10, color)
  const slot = width / points.length
  if (type === 'bar') {
    const marks = tall.map((one, index) => ({
      ...one,
      x: rounded(index * slot + slot / 10),
      y: rounded(height - one.width),
      width: rounded(slot * 0.8),
      height: one.width,
    }))
    return { way: 'columns', marks }
  }
  const times = points.map(({ label }) => Date.parse(label))
  const [first, last] = [Math.min(...times), Math.max(...times)]
  const marks = tall.map((one, index) => ({
    ...one,
    x: rounded(last > first ? 8 + ((times[index]! - first) / (last - first)) * (width - 16) : width / 2),
    y: rounded(height - one.width),
    width: 0,
  }))
  return { way: 'line', marks }
}

/** Draws shares of the whole, as sectors or side by side. */
function shares({ chart_type: type }: ChartDefinition, values: readonly number[]): Marks {
  const whole = values.reduce((sum, value) => sum + value, 0)
  let before = 0
  const marks = values.map((value, index): Mark => {
    const [from, share] = [before, value / whole]
    before += share
    const common = { ...blank, color: colors[index % colors.length]!, isWide: share >= 0.06 }
    if (type === 'percentage')
      return { ...common, x: rounded(from * width), width: rounded(share * width), height: 48, y: 24 }
    const inner = type === 'donut' ? 50 : 0
    const [x, y] = onCircle(from + share / 2, inner === 0 ? 66 : 75)
    return { ...common, x, y, outline: sector(from, Math.min(from + share, from + 0.99999), inner) }
  })
  return { way: type === 'percentage' ? 'stack' : 'round', marks }
}

function sector(from: number, to: number, inner: number): string {
  const far = to - from > 0.5 ? 1 : 0
  const outer = `M${onCircle(from, radius).join(' ')}A${radius} ${radius} 0 ${far} 1 ${onCircle(to, radius).join(' ')}`
  const back =
    inner === 0
      ? 'L0 0'
      : `L${onCircle(to, inner).join(' ')}A${inner} ${inner} 0 ${far} 0 ${onCircle(from, inner).join(' ')}`
  return `${outer}${back}Z`
}

/** Returns the place at a part of the way around, which begins at the top. */
function onCircle(part: number, far: number): readonly [number, number] {
  const angle = part * 2 * Math.PI
  return [rounded(far * Math.sin(angle)), rounded(-far * Math.cos(angle))]
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
