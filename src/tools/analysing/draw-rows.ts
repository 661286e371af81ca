import { AppError } from '#leaf/errors.ts'
import type { Charts } from '#sandbox/sandbox.ts'
import { type Drawing, drawingOf } from '#figures/drawing.ts'
import type { Content } from '../module-tool.d.ts'
import { turnOf, type ToolContext } from '../tool.ts'

/** Rows that are to be drawn, among all that there are. */
export interface DrawableRows {
  readonly names: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  readonly total: number | undefined
}

/** Draws the rows of an answer, and adds the picture to it. AppError `invalid` for what cannot be drawn, or is only a part. */
export async function withPicture(
  answer: Readonly<Record<string, unknown>>,
  { names, rows, total }: DrawableRows,
  drawing: Drawing,
  charts: Charts,
  context: ToolContext,
): Promise<{
  readonly kind: 'rich'
  readonly data: Readonly<Record<string, unknown>>
  readonly content: readonly Content[]
}> {
  if (rows.length !== total)
    throw new AppError(
      'invalid',
      `draw: only ${rows.length} of ${total ?? 'more'} rows would be drawn; raise limit (up to 1000) or group the rows`,
    )
  const { spec, points, note } = drawingOf(names, rows, drawing)
  const image = await charts.draw(spec, points, 'png', turnOf(context))
  const drawn = {
    points: points.length,
    ...(image.part !== undefined && { note: `only ${image.part} are drawn` }),
    ...(note !== undefined && { note }),
    ...(charts.noPng !== undefined && { as: 'SVG' }),
  }
  const content = [{ type: 'image' as const, data: image.data, mimeType: image.mimeType }]
  return { kind: 'rich', data: { ...answer, drawn }, content }
}
