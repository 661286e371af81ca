/** What is the same in every rendering, because no name, call or chance is in it: worked out once. */
import { children, type Expr } from '../reading/ast.ts'
import type { Code } from './compiler.ts'
import { Markup, type Value } from '../values.ts'

/** Filters that Jinja2 gives the running template, and therefore cannot compute beforehand. */
const NEEDS_CONTEXT = new Set(['map', 'select', 'reject', 'selectattr', 'rejectattr', 'random'])

/** Whether Jinja2 computes an expression when compiling, which shows in a few corners. */
export function isFolded(node: Expr): boolean {
  if (node.kind === 'name' || node.kind === 'nsref' || node.kind === 'call') return false
  if (node.kind === 'filter' && (node.node === undefined || NEEDS_CONTEXT.has(node.name))) return false
  return children(node).every(isFolded)
}

/** The longest text that is kept: a template lives as long as the site that it belongs to. */
const longestKept = 4096

/**
 * Returns code that works a constant out once, for either state of escaping. What fails fails anew each time, at its
 * place; what a template could change, such as a list, is made anew as well.
 */
export function kept(node: Expr, code: Code): Code {
  if (!isFolded(node)) return code
  let plain: Value | undefined
  let escaped: Value | undefined
  return (frame) => {
    const { on } = frame.escape
    const known = on ? escaped : plain
    if (known !== undefined) {
      frame.run.tick(1)
      return known
    }
    const value = code(frame)
    if (!isKept(value)) return value
    if (on) escaped = value
    else plain = value
    return value
  }
}

function isKept(value: Value): boolean {
  if (typeof value === 'string') return value.length <= longestKept
  if (value instanceof Markup) return value.text.length <= longestKept
  return typeof value === 'number' || typeof value === 'boolean'
}
