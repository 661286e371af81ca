/** A line of a diff: kept, removed or added. */
interface Edit {
  readonly kind: ' ' | '-' | '+'
  readonly line: string
}

/** The maximum of differing lines; beyond it, the diff shows all of the old and all of the new text. */
const mostEdits = 2_000

/** Returns the difference of two texts as a unified diff; empty when they are equal. */
export function unifiedDiff(before: string, after: string, from: string, to: string, context = 3): string {
  if (before === after) return ''
  const edits = editsOf(linesOf(before), linesOf(after))
  const shown = new Set<number>()
  for (const [index, { kind }] of edits.entries()) {
    if (kind === ' ') continue
    for (let near = index - context; near <= index + context; near++) shown.add(near)
  }
  const out = [`--- ${from}`, `+++ ${to}`]
  let hunk: Edit[] = []
  let [oldLine, newLine] = [1, 1]
  let [oldStart, newStart] = [1, 1]
  const close = (): void => {
    if (hunk.length === 0) return
    const count = (kind: Edit['kind']): number =>
      hunk.filter((edit) => edit.kind === ' ' || edit.kind === kind).length
    out.push(`@@ -${range(oldStart, count('-'))} +${range(newStart, count('+'))} @@`)
    out.push(...hunk.map(({ kind, line }) => `${kind}${line}`))
    hunk = []
  }
  for (const [index, edit] of edits.entries()) {
    if (shown.has(index)) {
      if (hunk.length === 0) [oldStart, newStart] = [oldLine, newLine]
      hunk.push(edit)
    } else close()
    if (edit.kind !== '+') oldLine++
    if (edit.kind !== '-') newLine++
  }
  close()
  return out.join('\n')
}

function range(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  else lines.push(`${lines.pop()}\n\\ no line end`)
  return lines
}

/** Finds the shortest edit script with Myers' greedy algorithm, from the front. */
function editsOf(a: readonly string[], b: readonly string[]): Edit[] {
  const offset = Math.min(a.length + b.length, mostEdits) + 1
  let reach = new Int32Array(2 * offset + 1)
  const steps: Int32Array[] = []
  for (let edits = 0; edits < offset; edits++) {
    steps.push(reach.slice())
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && reach[offset + k - 1]! < reach[offset + k + 1]!)
      let x = down ? reach[offset + k + 1]! : reach[offset + k - 1]! + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      reach[offset + k] = x
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, steps, offset)
    }
    reach = reach.slice()
  }
  return [...a.map((line): Edit => ({ kind: '-', line })), ...b.map((line): Edit => ({ kind: '+', line }))]
}

function walkBack(
  a: readonly string[],
  b: readonly string[],
  steps: readonly Int32Array[],
  offset: number,
): Edit[] {
  const edits: Edit[] = []
  let [x, y] = [a.length, b.length]
  for (let edit = steps.length - 1; edit >= 0; edit--) {
    const reach = steps[edit]!
    const k = x - y
    const down = k === -edit || (k !== edit && reach[offset + k - 1]! < reach[offset + k + 1]!)
    const from = k + (down ? 1 : -1)
    const [startX, startY] = edit === 0 ? [0, 0] : [reach[offset + from]!, reach[offset + from]! - from]
    // Walks back along equal lines to the place of the edit.
    const [endX, endY] = edit === 0 ? [0, 0] : down ? [startX, startY + 1] : [startX + 1, startY]
    while (x > endX && y > endY) {
      edits.push({ kind: ' ', line: a[--x]! })
      y--
    }
    if (edit === 0) break
    if (down) edits.push({ kind: '+', line: b[--y]! })
    else edits.push({ kind: '-', line: a[--x]! })
  }
  return edits.reverse()
}
