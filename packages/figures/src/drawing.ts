/** Draws the rows of a statement: what is drawn is what stands in them, and what cannot be drawn is refused, never drawn otherwise. */
import { DecimalSum } from '#leaf/decimal.ts'
import { AppError } from '#leaf/errors.ts'
import { didYouMean } from '#leaf/names.ts'
import type { ChartPoint } from '#sandbox/sandbox.ts'
import { framed, type VegaPart, sectorsOf } from './vega-lite.ts'

/** The kinds of drawings of rows. */
export const drawingKinds = ['bar', 'line', 'area', 'scatter', 'pie', 'donut'] as const

/** A drawing as its caller asks for it, in the names of the columns. */
export interface Drawing {
  readonly as: (typeof drawingKinds)[number]
  readonly x: string
  readonly y: readonly string[]
  readonly series?: string | undefined
  readonly title?: string | undefined
}

const mostSeries = 30
const mostPoints = 2000
/** The most sectors that can be told apart; of more, the smallest are one. */
const mostSectors = 30
const longestText = 500

/** Returns the specification and the points of a drawing. AppError `invalid` names every part that cannot be drawn. */
export function drawingOf(
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
  drawing: Drawing,
): { readonly spec: VegaPart; readonly points: readonly ChartPoint[]; readonly note?: string } {
  const { as, x, y, series } = drawing
  const faults = [x, ...y, ...(series === undefined ? [] : [series])]
    .filter((name) => !columns.includes(name))
    .map(
      (name) => `there is no column "${name}"${didYouMean(name, columns)}; there are ${columns.join(', ')}`,
    )
  const isRound = as === 'pie' || as === 'donut'
  if (y.length > 1 && series !== undefined)
    faults.push(`either several y, or one y and a series, not ${y.join(', ')} by ${series}`)
  if (isRound && (y.length > 1 || series !== undefined))
    faults.push(`a ${as} has one y and no series; draw bars`)
  if (rows.length === 0) faults.push('the statement answers no rows; narrow it less')
  if (faults.length > 0) refuse(faults)
  const at = (name: string): number => columns.indexOf(name)
  const points = rows.flatMap((row) =>
    y.flatMap((name): ChartPoint[] => {
      const given = row[at(name)] ?? null
      if (given === null) return []
      // Blanks, lists and truths would all become numbers that stand in no row.
      const isWritten = typeof given === 'string' ? given.trim() !== '' : typeof given === 'number'
      const value = isWritten ? Number(given) : Number.NaN
      if (!Number.isFinite(value))
        refuse([
          `y: ${name} holds ${JSON.stringify(given)}, which is no number; the columns are ${columns.join(', ')}`,
        ])
      const named = series === undefined ? (y.length > 1 ? name : undefined) : textOf(row[at(series)])
      return [{ label: textOf(row[at(x)]), value, ...(named !== undefined && { series: named }) }]
    }),
  )
  if (points.length > mostPoints)
    refuse([`${points.length} points are more than ${mostPoints}; group the rows`])
  const names = new Set(points.map((point) => point.series))
  if (names.size > mostSeries)
    refuse([`${names.size} series are more than the ${mostSeries} that can be told apart`])
  if (isRound && points.some(({ value }) => Number(value) < 0))
    refuse([`a ${as} has no negative parts; draw bars`])
  const seen = points.map((point) => JSON.stringify([point.label, point.series]))
  if (as !== 'scatter' && new Set(seen).size < seen.length)
    refuse([
      `several rows have the same ${series === undefined ? x : `${x} and ${series}`}; group the rows, or name a series`,
    ])
  const spec = specOf(drawing, points, names.size > 1 || series !== undefined)
  return isRound && points.length > mostSectors ? { spec, ...largest(points) } : { spec, points }
}

/** Keeps the largest sectors, and adds up the others as one. */
function largest(points: readonly ChartPoint[]): { points: readonly ChartPoint[]; note: string } {
  const sorted = points.toSorted((a, b) => Number(b.value) - Number(a.value))
  const [first, others] = [sorted.slice(0, mostSectors - 1), sorted.slice(mostSectors - 1)]
  const sum = new DecimalSum()
  for (const { value } of others) sum.add(value)
  const rest = { label: `${others.length} others`, value: sum.total().toNumber() }
  return { points: [...first, rest], note: `the ${first.length} largest are drawn, the others as one` }
}

function refuse(faults: readonly string[]): never {
  throw new AppError('invalid', `draw: ${faults.join('; ')}`)
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '(none)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length > longestText)
    refuse([`a label of ${text.length} characters is longer than ${longestText}; take left(…, 50) of it`])
  return text
}

function specOf(
  { as, x, y, series, title }: Drawing,
  points: readonly ChartPoint[],
  several: boolean,
): VegaPart {
  const isRound = as === 'pie' || as === 'donut'
  const isTime = !isRound && points.every(({ label }) => /^\d{4}-\d{2}-\d{2}/.test(label))
  const isNumber =
    as === 'scatter' && points.every(({ label }) => label.trim() !== '' && Number.isFinite(Number(label)))
  const kind = as === 'bar' ? 'ordinal' : isNumber ? 'quantitative' : isTime ? 'temporal' : 'ordinal'
  const value = {
    field: 'value',
    type: 'quantitative',
    title: y.length > 1 ? null : y[0],
    stack: as === 'area' ? 'zero' : null,
  }
  const color = { field: 'series', type: 'nominal', title: series ?? null, sort: null }
  const label = {
    field: 'label',
    type: kind,
    title: x,
    ...(kind === 'ordinal' && { sort: null, axis: { labelAngle: -40 } }),
  }
  const mark = { bar: 'bar', line: 'line', area: 'area', scatter: 'point', pie: 'arc', donut: 'arc' }[as]
  return framed(title, {
    mark: { type: mark, ...(as === 'line' && { point: true }), ...(as === 'donut' && { innerRadius: 80 }) },
    encoding: isRound
      ? sectorsOf(x)
      : { x: label, y: value, ...(several && { color, ...(as === 'bar' && { xOffset: color }) }) },
  })
}
