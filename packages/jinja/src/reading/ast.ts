/** The parsed template. `at` is an offset into the normalized source. */
import { Fault } from '../limits.ts'
import type { Value } from '../values.ts'

interface At {
  readonly at: number
}

/** A literal: a text, a number, `true`, `false` or `none`. */
export interface Const extends At {
  readonly kind: 'const'
  readonly value: Value
}
/** A variable that is read, or, as a target, one that is set. */
export interface Name extends At {
  readonly kind: 'name'
  readonly name: string
}
/** `ns.attribute` as the target of a `set`. */
export interface NamespaceTarget extends At {
  readonly kind: 'nsref'
  readonly name: string
  readonly attribute: string
}
/** `a, b`, with parentheses or without; as a target it unpacks. */
export interface TupleNode extends At {
  readonly kind: 'tuple'
  readonly items: readonly Expr[]
}
/**
 * What a call, filter or test is given: by place, by name, and spread from a list (`dynArgs`) or a dict
 * (`dynKwargs`).
 */
export interface Arguments {
  readonly args: readonly Expr[]
  readonly kwargs: readonly { readonly name: string; readonly value: Expr }[]
  readonly dynArgs: Expr | undefined
  readonly dynKwargs: Expr | undefined
}
/** A call of anything that has a value: a macro, a method, a global. */
export interface CallNode extends At {
  readonly kind: 'call'
  readonly callee: Expr
  readonly given: Arguments
}
/** A filter; without a node it filters the body of its block. */
export interface FilterNode extends At {
  readonly kind: 'filter'
  readonly node: Expr | undefined
  readonly name: string
  readonly given: Arguments
}
/** `value is name(…)`; for `is not` a `not` stands around it. */
export interface TestNode extends At {
  readonly kind: 'test'
  readonly node: Expr
  readonly name: string
  readonly given: Arguments
}

/** Arithmetic. `~` is not among it: it joins any number of parts in one node. */
export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**'
/** Comparisons chain as in Python: `1 < x <= 5` is one node with two operands. */
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'

/** Whatever has a value. Parsers build these nodes through `bounded`, so that none is too deep to run. */
export type Expr =
  | Const
  | Name
  | NamespaceTarget
  | TupleNode
  | CallNode
  | FilterNode
  | TestNode
  | (At & { readonly kind: 'list'; readonly items: readonly Expr[] })
  | (At & { readonly kind: 'dict'; readonly items: readonly { readonly key: Expr; readonly value: Expr }[] })
  | (At & {
      readonly kind: 'condition'
      readonly test: Expr
      readonly chosen: Expr
      readonly otherwise: Expr | undefined
    })
  | (At & {
      readonly kind: 'binary'
      readonly operator: BinaryOperator
      readonly left: Expr
      readonly right: Expr
    })
  | (At & { readonly kind: 'and' | 'or'; readonly left: Expr; readonly right: Expr })
  | (At & { readonly kind: 'not' | 'negative' | 'positive'; readonly node: Expr })
  | (At & { readonly kind: 'concat'; readonly items: readonly Expr[] })
  | (At & {
      readonly kind: 'compare'
      readonly left: Expr
      readonly operands: readonly { readonly operator: CompareOperator; readonly right: Expr }[]
    })
  | (At & { readonly kind: 'attribute'; readonly node: Expr; readonly name: string })
  | (At & { readonly kind: 'item'; readonly node: Expr; readonly key: Expr })
  | (At & {
      readonly kind: 'slice'
      readonly start: Expr | undefined
      readonly stop: Expr | undefined
      readonly step: Expr | undefined
    })

/** What can be assigned to. */
export type Target = Name | NamespaceTarget | TupleNode

/** The parameters of a macro or of a call block. */
export interface Signature {
  readonly params: readonly Name[]
  /** Of the last parameters. */
  readonly defaults: readonly Expr[]
}

/** A loop with its filter (`if` behind the iterable) and its `else`, which runs when no item passed. */
export interface For extends At {
  readonly kind: 'for'
  readonly target: Target
  readonly iterable: Expr
  readonly test: Expr | undefined
  readonly recursive: boolean
  readonly body: readonly Statement[]
  readonly otherwise: readonly Statement[]
}
/** A choice: the branches of `if` and `elif` in order. */
export interface If extends At {
  readonly kind: 'if'
  readonly branches: readonly { readonly test: Expr; readonly body: readonly Statement[] }[]
  readonly otherwise: readonly Statement[]
}
/** A template's own function; its value is the text of its body. */
export interface MacroNode extends At, Signature {
  readonly kind: 'macro'
  readonly name: string
  readonly body: readonly Statement[]
}
/** A call of a macro that gets the body along as `caller`, a macro too. */
export interface CallBlock extends At, Signature {
  readonly kind: 'callblock'
  readonly call: CallNode
  readonly body: readonly Statement[]
}
/**
 * What a template that extends this one may replace. `scoped`: it sees the variables around it;
 * `required`: it must be replaced.
 */
export interface Block extends At {
  readonly kind: 'block'
  readonly name: string
  readonly scoped: boolean
  readonly required: boolean
  readonly body: readonly Statement[]
}
/** Text and expressions that are written one after the other; a `print` tag is one as well. */
export interface Output extends At {
  readonly kind: 'output'
  readonly items: readonly (string | Expr)[]
}
/** A variable that gets the text of a body, through filters where some are named. */
export interface SetBlock extends At {
  readonly kind: 'setblock'
  readonly target: Target
  readonly filter: FilterNode | undefined
  readonly body: readonly Statement[]
}
/** Variables that end with the body; their values see only what is outside. */
export interface With extends At {
  readonly kind: 'with'
  readonly targets: readonly Target[]
  readonly values: readonly Expr[]
  readonly body: readonly Statement[]
}
/** Filters over the text of a body. */
export interface FilterBlock extends At {
  readonly kind: 'filterblock'
  readonly filter: FilterNode
  readonly body: readonly Statement[]
}
/** Escaping switched on or off for a body, perhaps only known when it runs. */
export interface Autoescape extends At {
  readonly kind: 'autoescape'
  readonly on: Expr
  readonly body: readonly Statement[]
}
/**
 * Another template's output in this place; `template` may give a list of names, of which the first that
 * exists is taken.
 */
export interface Include extends At {
  readonly kind: 'include'
  readonly template: Expr
  readonly ignoreMissing: boolean
  readonly withContext: boolean
}
/** Another template's macros and top-level variables under one name. */
export interface Import extends At {
  readonly kind: 'import'
  readonly template: Expr
  readonly target: string
  readonly withContext: boolean
}
/** Some of another template's macros and variables, under names of one's own. */
export interface FromImport extends At {
  readonly kind: 'from'
  readonly template: Expr
  readonly names: readonly { readonly name: string; readonly alias: string }[]
  readonly withContext: boolean
}

/** A tag with its body, or the output between two tags. */
export type Statement =
  | Output
  | For
  | If
  | MacroNode
  | CallBlock
  | Block
  | SetBlock
  | With
  | FilterBlock
  | Autoescape
  | Include
  | Import
  | FromImport
  | (At & { readonly kind: 'set'; readonly target: Target; readonly value: Expr })
  | (At & { readonly kind: 'extends'; readonly template: Expr })

/** The node of this kind among several. */
export type NodeOf<Node, Kind> = Node extends { readonly kind: infer Own }
  ? Kind extends Own
    ? Node
    : never
  : never

/** How deep one expression may nest: each level is a level of JavaScript's stack when it runs. */
const MAX_EXPRESSION_DEPTH = 250

/** The depth of each expression, kept while parsing so that no tree is walked twice. */
const depths = new WeakMap<Expr, number>()

/** Checks that an expression just built does not nest too deeply, and returns it. */
export function bounded<E extends Expr>(node: E): E {
  let depth = 0
  for (const child of children(node)) depth = Math.max(depth, depths.get(child) ?? 1)
  if (depth >= MAX_EXPRESSION_DEPTH) {
    throw new Fault(
      'TemplateSyntaxError',
      `an expression nested deeper than ${MAX_EXPRESSION_DEPTH} levels`,
      node.at,
    )
  }
  depths.set(node, depth + 1)
  return node
}

function ofArguments(given: Arguments): Expr[] {
  return [...given.args, ...given.kwargs.map((pair) => pair.value), given.dynArgs, given.dynKwargs].filter(
    (node) => node !== undefined,
  )
}

/** The expressions directly inside one, in the order they are evaluated. */
export function children(node: Expr): readonly Expr[] {
  switch (node.kind) {
    case 'tuple':
    case 'list':
    case 'concat':
      return node.items
    case 'dict':
      return node.items.flatMap(({ key, value }) => [key, value])
    case 'condition':
      return node.otherwise ? [node.test, node.chosen, node.otherwise] : [node.test, node.chosen]
    case 'binary':
    case 'and':
    case 'or':
      return [node.left, node.right]
    case 'not':
    case 'negative':
    case 'positive':
    case 'attribute':
      return [node.node]
    case 'compare':
      return [node.left, ...node.operands.map((operand) => operand.right)]
    case 'item':
      return [node.node, node.key]
    case 'slice':
      return [node.start, node.stop, node.step].filter((part) => part !== undefined)
    case 'call':
      return [node.callee, ...ofArguments(node.given)]
    case 'filter':
      return node.node ? [node.node, ...ofArguments(node.given)] : ofArguments(node.given)
    case 'test':
      return [node.node, ...ofArguments(node.given)]
    default:
      return []
  }
}
