// @ts-check
/** Finds tables that a page draws with lines: their cells, also those that span several rows or columns. */

/** @typedef {import('./pdf-rulings.mjs').Ruling} Ruling */
/** @typedef {{ text: string, x: number, end: number, y: number, size: number }} Piece a run of text; `y` is where it stands */
/** @typedef {{ left: number, right: number, top: number, bottom: number, rows: string[][] }} Grid */

const near = 3
/** The most cells of one grid; more are a pattern. */
const mostCells = 20_000

/**
 * Returns the grids of a page, and the pieces outside of them.
 * @param {{ across: Ruling[], down: Ruling[] }} rulings @param {Piece[]} pieces
 * @param {(pieces: Piece[]) => string} textOf
 * @returns {{ grids: Grid[], rest: Piece[] }}
 */
export function gridsOf(rulings, pieces, textOf) {
  let rest = pieces
  /** @type {Grid[]} */
  const grids = []
  for (const { across, down } of connected(rulings)) {
    const ys = places([...across.map(({ at }) => at), ...down.flatMap(({ from, to }) => [from, to])])
    const xs = places([...down.map(({ at }) => at), ...across.flatMap(({ from, to }) => [from, to])])
    if (ys.length < 3 || xs.length < 3 || xs.length * ys.length > mostCells) continue
    const [left = 0, right = 0, top = 0, bottom = 0] = [xs[0], xs.at(-1), ys[0], ys.at(-1)]
    const cellOf = cells(xs, ys, across, down)
    /** @type {Map<number, Piece[]>} */
    const inside = new Map()
    rest = rest.filter((piece) => {
      const [x, y] = [(piece.x + piece.end) / 2, piece.y - piece.size / 3]
      if (x < left || x > right || y < top || y > bottom) return true
      const cell = cellOf(index(xs, x), index(ys, y))
      const there = inside.get(cell)
      if (there) there.push(piece)
      else inside.set(cell, [piece])
      return false
    })
    const width = xs.length - 1
    const rows = Array.from({ length: ys.length - 1 }, (_row, row) =>
      Array.from({ length: width }, (_cell, column) => textOf(inside.get(row * width + column) ?? [])),
    )
    // Frames and decorative lines enclose little text.
    if (rows.filter((row) => row.some((text) => text !== '')).length >= 2)
      grids.push({ left, right, top, bottom, rows })
    else rest.push(...[...inside.values()].flat())
  }
  return { grids, rest }
}

/** Groups rulings that touch each other. @param {{ across: Ruling[], down: Ruling[] }} rulings */
function connected({ across, down }) {
  /** @type {{ across: Ruling[], down: Ruling[] }[]} */
  let groups = across.map((one) => ({ across: [one], down: [] }))
  for (const line of down) {
    const touching = groups.filter((group) =>
      group.across.some(
        ({ at, from, to }) =>
          line.at >= from - near && line.at <= to + near && at >= line.from - near && at <= line.to + near,
      ),
    )
    if (touching.length === 0) continue
    const joined = {
      across: touching.flatMap((group) => group.across),
      down: [...touching.flatMap((group) => group.down), line],
    }
    groups = [...groups.filter((group) => !touching.includes(group)), joined]
  }
  return groups.filter((group) => group.down.length > 0)
}

/** Sorts numbers, and keeps one of those that are nearly equal. @param {number[]} numbers */
function places(numbers) {
  /** @type {number[]} */
  const found = []
  for (const number of numbers.sort((a, b) => a - b))
    if (number - (found.at(-1) ?? Number.NEGATIVE_INFINITY) > near) found.push(number)
  return found
}

/** Returns the index of the interval between two places. @param {number[]} sorted @param {number} at */
function index(sorted, at) {
  return Math.min(
    Math.max(
      sorted.findLastIndex((place) => place <= at),
      0,
    ),
    sorted.length - 2,
  )
}

/**
 * Returns a function from a place in the grid to its cell: the first place that no line separates from it.
 * @param {number[]} xs @param {number[]} ys @param {Ruling[]} across @param {Ruling[]} down
 * @returns {(column: number, row: number) => number}
 */
function cells(xs, ys, across, down) {
  const [width, height] = [xs.length - 1, ys.length - 1]
  const owner = Array.from({ length: width * height }, (_, place) => place)
  const rootOf = (/** @type {number} */ place) => {
    let root = place
    while (owner[root] !== root) root = owner[root] ?? root
    return root
  }
  const join = (/** @type {number} */ a, /** @type {number} */ b) => {
    const [first, second] = [rootOf(a), rootOf(b)]
    owner[Math.max(first, second)] = Math.min(first, second)
  }
  const middle = (/** @type {number[]} */ of, /** @type {number} */ n) =>
    ((of[n] ?? 0) + (of[n + 1] ?? 0)) / 2
  const parted = (/** @type {Ruling[]} */ by, /** @type {number} */ at, /** @type {number} */ beside) =>
    by.some((one) => Math.abs(one.at - at) <= near && one.from - near <= beside && one.to + near >= beside)
  for (let row = 0; row < height; row++)
    for (let column = 0; column < width; column++) {
      const place = row * width + column
      if (column + 1 < width && !parted(down, xs[column + 1] ?? 0, middle(ys, row))) join(place, place + 1)
      if (row + 1 < height && !parted(across, ys[row + 1] ?? 0, middle(xs, column)))
        join(place, place + width)
    }
  return (column, row) => rootOf(row * width + column)
}
