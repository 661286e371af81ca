// @ts-check
/** Finds the lines that a page of a PDF draws: strokes and thin boxes that run straight across or down. */
import { getResolvedPDFJS } from 'unpdf'

/** @typedef {{ at: number, from: number, to: number }} Ruling */
/** @typedef {readonly number[]} Matrix */

/** The thickness in points below which boxes are lines. */
const thin = 2.5
/** The distance below which two places count as one. */
const near = 2
/** The length of the shortest ruling; shorter ones are dots and parts of letters. */
const shortest = 5
const most = 4000
/** The kinds of steps in pdf.js's paths, and the count of numbers that follow each. */
const steps = { move: 0, line: 1, curve: 2, quadratic: 3 }
const numbersOf = [2, 2, 6, 4, 0]

/**
 * Returns the rulings in the page's own coordinates, which go down from its upper left corner.
 * @param {any} page @param {Matrix} toPage
 * @returns {Promise<{ across: Ruling[], down: Ruling[] }>}
 */
export async function rulingsOf(page, toPage) {
  const { OPS } = await getResolvedPDFJS()
  const { fnArray, argsArray } = await page.getOperatorList()
  const unseen = new Set([OPS.endPath, OPS.clip, OPS.eoClip])
  /** @type {Ruling[]} */
  const across = []
  /** @type {Ruling[]} */
  const down = []
  let matrix = toPage
  /** @type {Matrix[]} */
  const saved = []
  for (let index = 0; index < fnArray.length && across.length + down.length < most; index++) {
    const [fn, args] = [fnArray[index], argsArray[index]]
    if (fn === OPS.save) saved.push(matrix)
    else if (fn === OPS.restore || fn === OPS.paintFormXObjectEnd) matrix = saved.pop() ?? matrix
    else if (fn === OPS.transform) matrix = times(matrix, args)
    else if (fn === OPS.paintFormXObjectBegin) {
      saved.push(matrix)
      if (args[0]) matrix = times(matrix, args[0])
    } else if (fn === OPS.constructPath && args[1]?.[0] && !unseen.has(args[0]))
      for (const [x1, y1, x2, y2] of edgesOf(args[1][0], matrix, isFilled(OPS, args[0]))) {
        if (Math.abs(y1 - y2) < 1 && Math.abs(x1 - x2) >= shortest)
          across.push({ at: (y1 + y2) / 2, from: Math.min(x1, x2), to: Math.max(x1, x2) })
        else if (Math.abs(x1 - x2) < 1 && Math.abs(y1 - y2) >= shortest)
          down.push({ at: (x1 + x2) / 2, from: Math.min(y1, y2), to: Math.max(y1, y2) })
      }
  }
  return { across: merged(across), down: merged(down) }
}

/** @param {any} OPS @param {number} paint */
function isFilled(OPS, paint) {
  return paint === OPS.fill || paint === OPS.eoFill
}

/**
 * Returns the straight edges of a path; of a filled one only thin parts, as the line that they look like.
 * @param {Float32Array} path @param {Matrix} matrix @param {boolean} filled
 * @returns {[number, number, number, number][]}
 */
function edgesOf(path, matrix, filled) {
  /** @type {[number, number][][]} */
  const parts = []
  for (let at = 0; at < path.length;) {
    const step = path[at] ?? 0
    const count = numbersOf[step] ?? 0
    const [x = 0, y = 0] = path.slice(at + 1 + count - 2, at + 1 + count)
    at += 1 + count
    if (step === steps.move) parts.push([place(matrix, x, y)])
    else if (step === steps.line) parts.at(-1)?.push(place(matrix, x, y))
    else if (step === steps.curve || step === steps.quadratic) parts.push([place(matrix, x, y)])
    else if (parts.at(-1)?.[0]) parts.at(-1)?.push(/** @type {[number, number]} */ (parts.at(-1)?.[0]))
  }
  return parts.flatMap((points) => {
    if (!filled) return points.slice(1).map(([x, y], n) => edge(points[n], x, y))
    const xs = points.map(([x]) => x)
    const ys = points.map(([, y]) => y)
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)]
    if (bottom - top <= thin) return [edge([left, (top + bottom) / 2], right, (top + bottom) / 2)]
    return right - left <= thin ? [edge([(left + right) / 2, top], (left + right) / 2, bottom)] : []
  })
}

/** @param {[number, number] | undefined} from @param {number} x @param {number} y @returns {[number, number, number, number]} */
function edge(from, x, y) {
  return [from?.[0] ?? x, from?.[1] ?? y, x, y]
}

/** Merges pieces of one line. @param {Ruling[]} rulings */
function merged(rulings) {
  /** @type {Ruling[][]} */
  const groups = []
  for (const ruling of rulings.toSorted((a, b) => a.at - b.at)) {
    const group = groups.at(-1)
    if (group && ruling.at - /** @type {Ruling} */ (group[0]).at <= near) group.push(ruling)
    else groups.push([ruling])
  }
  return groups.flatMap((group) => {
    const at = group.reduce((sum, one) => sum + one.at, 0) / group.length
    /** @type {Ruling[]} */
    const whole = []
    for (const { from, to } of group.sort((a, b) => a.from - b.from)) {
      const last = whole.at(-1)
      if (last && from <= last.to + near) last.to = Math.max(last.to, to)
      else whole.push({ at, from, to })
    }
    return whole
  })
}

/** @param {Matrix} outer @param {Matrix} inner @returns {Matrix} */
export function times(
  [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0],
  [g = 1, h = 0, i = 0, j = 1, k = 0, l = 0],
) {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f]
}

/** @param {Matrix} matrix @param {number} x @param {number} y @returns {[number, number]} */
function place([a = 1, b = 0, c = 0, d = 1, e = 0, f = 0], x, y) {
  return [a * x + c * y + e, b * x + d * y + f]
}
