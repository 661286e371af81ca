/** Questions about whole subtrees that the compiler asks. */
import {
  children,
  type Block,
  type Expr,
  type FilterNode,
  type Statement,
  type Target,
  type TestNode,
} from './ast.ts'

/** What to do with what is met, in source order. */
interface Visitor {
  load?(name: string): void
  store?(name: string, at: number): void
  parameter?(name: string): void
  /** Answers false to leave the block's body out. */
  block?(block: Block): boolean
  call?(node: FilterNode | TestNode): void
  statement?(node: Statement): void
}

/** Walks statements and all that is inside them. */
export function walk(statements: readonly Statement[], visitor: Visitor): void {
  for (const statement of statements) walkStatement(statement, visitor)
}

function walkStatement(node: Statement, visitor: Visitor): void {
  visitor.statement?.(node)
  switch (node.kind) {
    case 'output':
      for (const item of node.items) if (typeof item !== 'string') walkOptional(item, visitor)
      return
    case 'for':
      walkTarget(node.target, visitor)
      walkOptional(node.iterable, visitor)
      walk(node.body, visitor)
      walk(node.otherwise, visitor)
      walkOptional(node.test, visitor)
      return
    case 'if':
      for (const { test, body } of node.branches) {
        walkOptional(test, visitor)
        walk(body, visitor)
      }
      walk(node.otherwise, visitor)
      return
    case 'macro':
    case 'callblock':
      if (node.kind === 'callblock') walkOptional(node.call, visitor)
      for (const { name } of node.params) visitor.parameter?.(name)
      for (const value of node.defaults) walkExpr(value, visitor)
      walk(node.body, visitor)
      return
    case 'block':
      if (visitor.block?.(node) ?? true) walk(node.body, visitor)
      return
    case 'set':
      walkTarget(node.target, visitor)
      walkOptional(node.value, visitor)
      return
    case 'setblock':
      walkTarget(node.target, visitor)
      walkOptional(node.filter, visitor)
      walk(node.body, visitor)
      return
    case 'with':
      for (const target of node.targets) walkTarget(target, visitor, true)
      for (const value of node.values) walkExpr(value, visitor)
      walk(node.body, visitor)
      return
    case 'filterblock':
      walk(node.body, visitor)
      walkOptional(node.filter, visitor)
      return
    case 'autoescape':
      walkOptional(node.on, visitor)
      walk(node.body, visitor)
      return
    default:
      walkOptional(node.template, visitor)
  }
}

function walkTarget(target: Target, visitor: Visitor, asParameter = false): void {
  if (target.kind === 'tuple')
    for (const item of target.items) walkTarget(item as Target, visitor, asParameter)
  else if (target.kind === 'name') {
    if (asParameter) visitor.parameter?.(target.name)
    else visitor.store?.(target.name, target.at)
  }
}

function walkOptional(node: Expr | undefined, visitor: Visitor): void {
  if (node) walkExpr(node, visitor)
}

function walkExpr(node: Expr, visitor: Visitor): void {
  if (node.kind === 'name') visitor.load?.(node.name)
  else {
    if (node.kind === 'filter' || node.kind === 'test') visitor.call?.(node)
    for (const child of children(node)) walkExpr(child, visitor)
  }
}

/** Which of these special names are read before something stores them; bodies of blocks do not count. */
export function undeclared(statements: readonly Statement[], names: readonly string[]): Set<string> {
  const wanted = new Set(names)
  const found = new Set<string>()
  walk(statements, {
    load: (name) => wanted.has(name) && found.add(name),
    store: (name) => wanted.delete(name),
    parameter: (name) => wanted.delete(name),
    block: () => false,
  })
  return found
}

/** Nodes in statements, loops inside left out: what one execution costs in steps. */
export function weightOf(statements: readonly Statement[]): number {
  let weight = 0
  for (const node of statements) {
    weight++
    if (node.kind === 'output') weight += node.items.length
    else if (node.kind === 'if') {
      weight += node.branches.length
      weight += Math.max(weightOf(node.otherwise), ...node.branches.map(({ body }) => weightOf(body)))
    } else if (node.kind !== 'for' && node.kind !== 'macro' && 'body' in node) weight += weightOf(node.body)
  }
  return weight
}
