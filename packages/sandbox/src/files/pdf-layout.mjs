// @ts-check
/**
 * Puts the content of a page into reading order: lines, text in columns, and tables that only their spacing
 * reveals.
 */

/** @typedef {import('./pdf-grids.mjs').Piece} Piece */
/** @typedef {import('./pdf-grids.mjs').Grid} Grid */
/** @typedef {{ x: number, end: number, y: number, size: number, text: string, grid?: Grid }} Run pieces without a gap between them */
/** @typedef {{ y: number, size: number, runs: Run[] }} Line */
/** @typedef {{ text: string, rows?: string[][], unruled?: boolean, columns?: number, top: number }} Block */

/** The widths of a gap between runs and of a gap between columns, in letters. */
const [runGap, columnGap] = [0.8, 0.9]
/** The fewest lines of text one above the other that are columns or a table, not an accident. */
const fewest = 3
/** The widest distance between lines of one block, in letters. */
const widest = 4
/** The most lines of one block. */
const mostLines = 200
/** The factor of the usual line distance beyond which a lone line is outside the table. */
const apartFrom = 1.25

/** @param {Piece[]} pieces @param {Grid[]} grids @returns {Block[]} */
export function blocksOf(pieces, grids) {
  const lines = linesOf(pieces)
  for (const grid of grids) {
    const run = { x: grid.left, end: grid.right, y: grid.top, size: 10, text: '', grid }
    lines.push({ y: grid.top, size: 10, runs: [run] })
  }
  lines.sort((a, b) => a.y - b.y)
  return inOrder(lines)
}

/** Returns the text of pieces that stand together, line by line. @param {Piece[]} pieces */
export function textOf(pieces) {
  return linesOf(pieces)
    .map((line) => line.runs.map(({ text }) => text).join(' '))
    .join('\n')
}

/** @param {Piece[]} pieces @returns {Line[]} */
function linesOf(pieces) {
  /** @type {Piece[][]} */
  const lines = []
  for (const piece of pieces.toSorted((a, b) => a.y - b.y || a.x - b.x)) {
    const line = lines.at(-1)
    const first = line?.[0]
    if (line && first && piece.y - first.y <= Math.min(piece.size, first.size) * 0.45) line.push(piece)
    else lines.push([piece])
  }
  return lines.map((line) => {
    const sorted = line.sort((a, b) => a.x - b.x)
    const size = Math.max(...sorted.map((piece) => piece.size))
    return { y: sorted[0]?.y ?? 0, size, runs: runsOf(sorted) }
  })
}

/** @param {Piece[]} sorted @returns {Run[]} */
function runsOf(sorted) {
  /** @type {Run[]} */
  const runs = []
  for (const { text, x, end, y, size } of sorted) {
    const run = runs.at(-1)
    const gap = x - (run?.end ?? 0)
    if (!run || gap > size * runGap) {
      runs.push({ x, end, y, size, text: text.trim() })
      continue
    }
    run.text +=
      `${gap > size * 0.15 && !run.text.endsWith(' ') && !text.startsWith(' ') ? ' ' : ''}${text}`.trimEnd()
    run.end = Math.max(run.end, end)
  }
  return runs
}

/** @param {Line[]} lines @returns {Block[]} */
function inOrder(lines) {
  /** @type {Block[]} */
  const blocks = []
  for (let start = 0; start < lines.length;) {
    const together = besideEachOther(lines, start)
    if (!together) {
      blocks.push(...(lines[start]?.runs ?? []).flatMap(blockOfRun))
      joinLine(blocks, lines[start]?.runs.length ?? 0)
      start += 1
      continue
    }
    const { end, gutters } = together
    const part = lines.slice(start, end)
    const columns =
      gutters === undefined
        ? (part[0]?.runs ?? []).map((_run, n) =>
            part.map((line) => ({ ...line, runs: line.runs.slice(n, n + 1) })),
          )
        : [...gutters, Infinity].map((to, n) =>
            part.map((line) => within(line, gutters[n - 1] ?? -Infinity, to)),
          )
    if (columns.every(isProse)) {
      const [first] = part
      blocks.push({ text: '', columns: columns.length, top: first?.y ?? 0 })
      for (const column of columns) blocks.push(...inOrder(column.filter((line) => line.runs.length > 0)))
    } else blocks.push(tableOf(columns, part))
    start = end
  }
  return blocks
}

/** @param {Run} run @returns {Block[]} */
function blockOfRun({ text, grid, y }) {
  if (!grid) return [{ text, top: y }]
  return [{ text: textOfRows(grid.rows), rows: grid.rows, top: y }]
}

/** Joins the pieces of one line to one line of text. @param {Block[]} blocks @param {number} count */
function joinLine(blocks, count) {
  const parts = blocks.slice(-count)
  if (count < 2 || parts.some(({ rows }) => rows)) return
  blocks.splice(-count, count, { text: parts.map(({ text }) => text).join('\t'), top: parts[0]?.top ?? 0 })
}

/** @param {string[][]} rows */
function textOfRows(rows) {
  return rows.map((row) => row.map((cell) => cell.replaceAll('\n', ' ')).join('\t')).join('\n')
}

/** @param {Line} line @param {number} from @param {number} to @returns {Line} */
function within({ y, size, runs }, from, to) {
  return { y, size, runs: runs.filter(({ x, end }) => (x + end) / 2 > from && (x + end) / 2 <= to) }
}

/** True if lines are as wide as their column and made of words, which cells of a table are not. @param {Line[]} column */
function isProse(column) {
  const runs = column.flatMap((line) => line.runs).filter(({ grid }) => !grid)
  const width = Math.max(...runs.map(({ end }) => end)) - Math.min(...runs.map(({ x }) => x))
  const words = median(runs.map(({ text }) => text.split(' ').length))
  return runs.length >= fewest && words >= 4 && median(runs.map(({ x, end }) => end - x)) >= width * 0.6
}

/** @param {number[]} numbers */
function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0
}

/**
 * Returns the most lines from `start` that stand side by side: they share gaps (`gutters`), or have the same number of
 * runs. Undefined when there are too few of them.
 * @param {Line[]} lines @param {number} start
 * @returns {{ end: number, gutters?: number[] } | undefined}
 */
function besideEachOther(lines, start) {
  const count = lines[start]?.runs.length ?? 0
  if (count < 2) return undefined
  const apart = spaced(lines, start)
  let alike = start
  while (lines[alike]?.runs.length === count && (alike === start || !isFar(lines, alike))) alike++
  // Numbers right-aligned in their column leave no gap beside a left-aligned heading of the next.
  const isExact = alike - start >= fewest && alike >= (apart?.end ?? 0)
  return isExact ? { end: alike } : apart
}

/** @param {Line[]} lines @param {number} at */
function isFar(lines, at) {
  const [before, line] = [lines[at - 1], lines[at]]
  return !before || !line || line.y - before.y > widest * Math.max(line.size, before.size)
}

/** @param {Line[]} lines @param {number} start @returns {{ end: number, gutters: number[] } | undefined} */
function spaced(lines, start) {
  /** @type {{ end: number, gutters: number[] } | undefined} */
  let found
  let full = 0
  /** @type {number[]} */
  const pitches = []
  for (let end = start + 1; end <= Math.min(lines.length, start + mostLines); end++) {
    const line = lines[end - 1]
    if (!line || (end - 1 > start && isFar(lines, end - 1))) break
    const gutters = guttersOf(lines.slice(start, end))
    if (gutters.length === 0 || (found && gutters.length < found.gutters.length && full >= fewest)) break
    const goesOn = line.runs.length >= 2 || isColumnText(line, gutters)
    const pitch = line.y - (lines[end - 2]?.y ?? 0)
    // A lone line that stands apart is text between two tables.
    if (!goesOn && pitches.length > 0 && pitch > median(pitches) * apartFrom) break
    if (end - 1 > start) pitches.push(pitch)
    if (line.runs.length >= 2) full += 1
    // A table ends with its last line that has several cells; text goes on.
    if (full >= fewest && goesOn) found = { end, gutters }
  }
  return found
}

/** @param {Line} line @param {number[]} gutters */
function isColumnText({ runs }, gutters) {
  return gutters.length <= 2 && runs.every(({ text }) => text.split(' ').length >= 4)
}

/** Returns the gaps that no run covers, between the leftmost and the rightmost one. @param {Line[]} lines */
function guttersOf(lines) {
  const runs = lines.flatMap((line) => line.runs).sort((a, b) => a.x - b.x)
  const size = median(runs.map((run) => run.size))
  /** @type {number[]} */
  const gutters = []
  let end = runs[0]?.end ?? 0
  for (const run of runs) {
    if (run.x - end > size * columnGap) gutters.push((run.x + end) / 2)
    end = Math.max(end, run.end)
  }
  return gutters
}

/** @param {Line[][]} columns @param {Line[]} lines @returns {Block} */
function tableOf(columns, lines) {
  const rows = lines.map((_line, row) =>
    columns.map((column) => (column[row]?.runs ?? []).map(({ text }) => text).join(' ')),
  )
  return { text: textOfRows(rows), rows, unruled: true, top: lines[0]?.y ?? 0 }
}
