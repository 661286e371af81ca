/** The place of some rows among all of them. */
export interface Part {
  /** The number of all rows; absent when the source does not tell it. */
  readonly total?: number | undefined
  /** True when there are more than the total. */
  readonly moreThanTotal?: boolean
  /** The offset of the first row; absent behind a cursor. */
  readonly offset?: number | undefined
  /** True when there are more after these, where that does not follow from the offset. */
  readonly more?: boolean
  /** Returns the cursor that continues after so many of these. */
  readonly cursorAfter?: ((count: number) => string) | undefined
}

/**
 * Returns a result with rows under `key`, cut to whole rows so that it stays below the byte budget, with
 * what the caller needs to continue: count, total_count, has_more, next_offset.
 */
export function fitRows(
  result: Readonly<Record<string, unknown>>,
  key: string,
  { total, moreThanTotal, offset, more, cursorAfter }: Part,
  budget: number,
): Readonly<Record<string, unknown>> {
  const rows = result[key] as readonly unknown[]
  // 400 bytes are room for the envelope around the rows.
  const room = budget - 400
  const count =
    mostBytes(result, room) < room
      ? rows.length
      : countThatFit(rows, room - Buffer.byteLength(JSON.stringify({ ...result, [key]: [] })))
  const next = (offset ?? total ?? 0) + count
  const goesOn = count < rows.length || (more ?? (total !== undefined && next < total))
  const fitting: Record<string, unknown> = { ...result }
  fitting[key] = count === rows.length ? rows : rows.slice(0, count)
  fitting['count'] = count
  if (total !== undefined) fitting['total_count'] = total
  if (moreThanTotal) fitting['more_than_total'] = true
  fitting['has_more'] = goesOn
  if (goesOn && offset !== undefined) fitting['next_offset'] = next
  if (goesOn && cursorAfter) fitting['next_cursor'] = cursorAfter(count)
  if (count < rows.length) {
    const on = offset !== undefined ? `offset ${next}` : cursorAfter && 'next_cursor'
    const remedy = on === undefined ? 'ask for less' : `go on with ${on} or ask for fewer fields`
    fitting['note'] = `${rows.length - count} rows were left out to keep the answer short; ${remedy}`
  }
  return fitting
}

/** Returns an upper bound of the value's bytes as JSON, or stops at `enough`: a fifth of the cost of writing it to see. */
function mostBytes(value: unknown, enough: number): number {
  // Each UTF-16 unit may become an escape of six characters.
  if (typeof value === 'string') return value.length * 6 + 3
  if (typeof value !== 'object' || value === null) return 25
  let bytes = 3
  if (Array.isArray(value)) {
    for (const item of value) if ((bytes += mostBytes(item, enough - bytes)) >= enough) return bytes
    return bytes
  }
  // A date, a decimal and the like have a text of their own.
  if (Object.getPrototypeOf(value) !== Object.prototype) return Infinity
  const members = value as Readonly<Record<string, unknown>>
  for (const name in members)
    if ((bytes += name.length * 6 + 3 + mostBytes(members[name], enough - bytes)) >= enough) return bytes
  return bytes
}

/** Counts the rows that fit, at least one: a page without any could never be continued. */
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
