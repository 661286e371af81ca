/**
 * Which variable a name means, decided before anything runs. Each scope (template, loop body,
 * macro, …) knows the names it stores and loads; each becomes a slot of the function it lives
 * in, filled when the scope is entered: with the context's value, with the outer scope's, or
 * with nothing. These are the rules by which Jinja2 itself compiles names.
 */
import { children, type Expr, type Statement, type Target } from './ast.ts'

/** A piece of template that has slots of its own when it runs: the root, a block, a macro, a recursive loop. */
export interface Routine {
  readonly parent: Routine | undefined
  size: number
}

/** A variable: a slot of a routine. */
export interface Ref {
  readonly routine: Routine
  readonly slot: number
  readonly name: string
}

/** How a slot gets its first value when its scope is entered. */
export type Load =
  | { readonly how: 'parameter' | 'nothing' }
  | { readonly how: 'resolve'; readonly assigned: boolean }
  | { readonly how: 'alias'; readonly from: Ref }

/** One scope's names. */
export class Scope {
  readonly routine: Routine
  readonly parent: Scope | undefined
  refs = new Map<string, Ref>()
  loads = new Map<Ref, Load>()
  stores = new Set<string>()
  /** One ref for each name, whichever branch of an `if` meets it first. */
  private readonly made: Map<string, Ref>

  constructor(routine: Routine, parent: Scope | undefined, made = new Map<string, Ref>()) {
    this.routine = routine
    this.parent = parent
    this.made = made
  }

  /** What a name means here; undefined where no scope around it knows the name. */
  findRef(name: string): Ref | undefined {
    return this.refs.get(name) ?? this.parent?.findRef(name)
  }

  /** Notes that the name is read. What nobody around sets is asked of the context. */
  load(name: string): void {
    if (!this.findRef(name)) this.define(name, { how: 'resolve', assigned: false })
  }

  /** Notes that the name is set here. Until then it has the value of the outer variable, if there is one. */
  store(name: string): void {
    this.stores.add(name)
    if (this.refs.has(name)) return
    const outer = this.parent?.findRef(name)
    this.define(name, outer ? { how: 'alias', from: outer } : { how: 'nothing' })
  }

  /** A variable that is filled from outside the statements: a parameter, a loop's target, `caller`. */
  declare(name: string): Ref {
    this.stores.add(name)
    return this.define(name, { how: 'parameter' })
  }

  private define(name: string, load: Load): Ref {
    let ref = this.made.get(name)
    if (!ref) {
      ref = { routine: this.routine, slot: this.routine.size++, name }
      this.made.set(name, ref)
    }
    this.refs.set(name, ref)
    this.loads.set(ref, load)
    return ref
  }

  /** A copy to try one branch of an `if` in; the slots are shared. */
  private branch(): Scope {
    const copy = new Scope(this.routine, this.parent, this.made)
    copy.refs = new Map(this.refs)
    copy.loads = new Map(this.loads)
    copy.stores = new Set(this.stores)
    return copy
  }

  /** Reads the branches of an `if`: what only some of them store keeps its outer value otherwise. */
  branches(bodies: readonly (readonly Statement[])[]): void {
    const scopes = bodies.map((body) => {
      const scope = this.branch()
      scope.visitAll(body)
      return scope
    })
    const stored = new Set(
      scopes.flatMap((scope) => [...scope.stores].filter((name) => !this.stores.has(name))),
    )
    for (const scope of scopes) {
      for (const [name, ref] of scope.refs) this.refs.set(name, ref)
      for (const name of scope.stores) this.stores.add(name)
    }
    for (const name of stored) {
      const ref = this.findRef(name)!
      const outer = this.parent?.findRef(name)
      // Set in all branches, it need not come from outside.
      const assigned = scopes.every(
        (scope) => scope.stores.has(name) && scope.loads.get(ref)?.how !== 'resolve',
      )
      for (const scope of scopes) scope.loads.delete(ref)
      this.loads.set(ref, outer ? { how: 'alias', from: outer } : { how: 'resolve', assigned })
    }
    for (const scope of scopes) for (const [ref, load] of scope.loads) this.loads.set(ref, load)
  }

  visitAll(statements: readonly Statement[]): void {
    for (const statement of statements) this.visit(statement)
  }

  /** Notes the names of a statement that belong to this scope; bodies with scopes of their own are left out. */
  visit(node: Statement): void {
    switch (node.kind) {
      case 'output':
        for (const item of node.items) if (typeof item !== 'string') this.visitExpr(item)
        break
      case 'for':
        this.visitExpr(node.iterable)
        break
      case 'if':
        this.visitIf(node.branches, node.otherwise)
        break
      case 'macro':
        this.store(node.name)
        break
      case 'callblock':
        this.visitExpr(node.call)
        break
      case 'set':
        this.visitExpr(node.value)
        this.visitTarget(node.target)
        break
      case 'setblock':
        this.visitTarget(node.target)
        break
      case 'with':
        for (const value of node.values) this.visitExpr(value)
        break
      case 'filterblock':
        this.visitExpr(node.filter)
        break
      case 'include':
      case 'extends':
        this.visitExpr(node.template)
        break
      case 'import':
        this.visitExpr(node.template)
        this.store(node.target)
        break
      case 'from':
        this.visitExpr(node.template)
        for (const { alias } of node.names) this.store(alias)
        break
      default:
    }
  }

  private visitIf(
    branches: readonly { readonly test: Expr; readonly body: readonly Statement[] }[],
    otherwise: readonly Statement[],
  ): void {
    for (const { test } of branches) this.visitExpr(test)
    this.branches([...branches.map(({ body }) => body), otherwise])
  }

  visitExpr(node: Expr): void {
    if (node.kind === 'name' || node.kind === 'nsref') this.load(node.name)
    else for (const child of children(node)) this.visitExpr(child)
  }

  /** Notes what an assignment sets; an attribute of a namespace only reads the namespace. */
  visitTarget(target: Target, asParameter = false): void {
    if (target.kind === 'tuple')
      for (const item of target.items) this.visitTarget(item as Target, asParameter)
    else if (target.kind === 'nsref') this.load(target.name)
    else if (asParameter) this.declare(target.name)
    else this.store(target.name)
  }

  /** Every name stored here or further out, with the variable it means here. */
  visible(): Map<string, Ref> {
    const found = this.parent?.visible() ?? new Map<string, Ref>()
    for (const name of this.stores) found.set(name, this.findRef(name)!)
    return found
  }
}
