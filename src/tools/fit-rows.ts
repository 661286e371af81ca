/** Where a part of some rows stands among all of them. */
export interface Part {
  readonly total: number
  readonly offset: number
  /** Whether there are more after these, where that does not follow from the offset. */
  readonly more?: boolean
  /** What goes on after so many of these. */
  readonly cursorAfter?: (count: number) => string
}

/**
 * A result with rows under `key`, cut to whole rows so that it stays below the byte budget, with
 * what the caller needs to go on: count, total_count, has_more, next_offset.
 */
export function fitRows(
  result: Readonly<Record<string, unknown>>,
  key: string,
  { total, offset, more, cursorAfter }: Part,
  budget: number,
): Readonly<Record<string, unknown>> {
  const rows = result[key] as readonly unknown[]
  // Room for the envelope around the rows.
  const room = budget - 400
  const count =
    Buffer.byteLength(JSON.stringify(result)) < room
      ? rows.length
      : countThatFit(rows, room - Buffer.byteLength(JSON.stringify({ ...result, [key]: [] })))
  const next = offset + count
  const goesOn = count < rows.length || (more ?? next < total)
  return {
    ...result,
    [key]: count === rows.length ? rows : rows.slice(0, count),
    count,
    total_count: total,
    has_more: goesOn,
    ...(next < total && { next_offset: next }),
    ...(goesOn && cursorAfter && { next_cursor: cursorAfter(count) }),
    ...(count < rows.length && {
      note: `${rows.length - count} rows were left out to keep the answer short; go on with offset ${next} or ask for fewer fields`,
    }),
  }
}

/** At least one row: a page without any could never be continued. */
function countThatFit(rows: readonly unknown[], bytes: number): number {
  let left = bytes
  let count = 0
  for (const row of rows) {
    left -= Buffer.byteLength(JSON.stringify(row) ?? 'null') + 1
    if (left < 0 && count > 0) break
    count++
  }
  return count
}
