/** The `loop` variable. */
import { variadic } from './binding.ts'
import { Bound } from './bound.ts'
import { equals } from './python/compare.ts'
import { sizeOf } from './python/iterate.ts'
import { Fault, type Run } from './limits.ts'
import { Tuple, Undefined, type Env, type Iter, type Kwargs, type Thing, type Value } from './values.ts'

const cycle = variadic((_env, self, args) => {
  if (args.length === 0) throw new Fault('TypeError', 'no items for cycling given')
  return args[(self as LoopState).index0 % args.length]!
})
const changed = variadic((env, self, args) => (self as LoopState).changed(env.run, args))

/** The `loop` of a running `for`; also what it iterates with, one item ahead when asked. */
export class LoopState implements Thing {
  readonly type = 'LoopContext'
  index0 = -1
  readonly depth0: number
  private readonly run: Run
  private readonly iterable: Value | undefined
  private source: Iter
  private readonly recurse: ((iterable: Value, depth: number) => Value) | undefined
  private length: number | undefined
  private before: Value | undefined
  private current: Value | undefined
  private after: Value | undefined
  private last: Value[] | undefined

  /** `iterable` is given when its length may be asked for; otherwise the source is drained for it. */
  constructor(
    run: Run,
    source: Iter,
    iterable: Value | undefined,
    recurse?: (iterable: Value, depth: number) => Value,
    depth0 = 0,
  ) {
    this.run = run
    this.source = source
    this.iterable = iterable
    this.recurse = recurse
    this.depth0 = depth0
  }

  next(): Value | undefined {
    const item = this.after ?? this.fetch()
    if (item === undefined) return undefined
    this.after = undefined
    this.index0++
    this.before = this.current
    this.current = item
    return item
  }

  private fetch(): Value | undefined {
    // None is an item too, and `??` has passed over the one that was looked at ahead.
    return this.after === null ? null : this.source.next()
  }

  /** Looks one item ahead, for `last` and `nextitem`. */
  private peek(): Value | undefined {
    if (this.after === undefined) this.after = this.source.next()
    return this.after
  }

  /** How many items the loop has. */
  size(): number {
    if (this.length !== undefined) return this.length
    const size = this.iterable === undefined ? undefined : sizeOf(this.run, this.iterable)
    if (size !== undefined) return (this.length = size)
    // A generator tells its length only when it is at its end; what came out is handed on below.
    const rest: Value[] = []
    for (let item = this.source.next(); item !== undefined; item = this.source.next()) rest.push(item)
    this.run.items(rest.length)
    let place = 0
    this.source = { next: () => rest[place++] }
    return (this.length = rest.length + this.index0 + 1 + (this.after === undefined ? 0 : 1))
  }

  /** Whether the values differ from those of the turn before; at the first turn they do. */
  changed(run: Run, values: Value[]): boolean {
    const last = this.last
    if (last && equals(run, new Tuple(last), new Tuple(values))) return false
    this.last = values
    return true
  }

  attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return this.index0 + 1
      case 'index0':
        return this.index0
      case 'first':
        return this.index0 === 0
      case 'last':
        return this.peek() === undefined
      case 'length':
        return this.size()
      case 'revindex':
        return this.size() - this.index0
      case 'revindex0':
        return this.size() - this.index0 - 1
      case 'depth':
        return this.depth0 + 1
      case 'depth0':
        return this.depth0
      // The neighbours are undefined at the ends, so that a template may ask without looking first.
      case 'previtem':
        return this.index0 === 0 || this.before === undefined
          ? new Undefined('there is no previous item')
          : this.before
      case 'nextitem':
        return this.peek() ?? (this.after === null ? null : new Undefined('there is no next item'))
      case 'cycle':
        return new Bound(this, name, cycle)
      case 'changed':
        return new Bound(this, name, changed)
      default:
        return undefined
    }
  }

  call(_env: Env, args: Value[], kwargs: Kwargs | undefined): Value {
    const iterable = args[0] ?? kwargs?.get('iterable')
    if (iterable === undefined || args.length + (kwargs?.size ?? 0) !== 1) {
      throw new Fault('TypeError', 'loop() takes exactly one argument, the iterable')
    }
    if (!this.recurse) {
      throw new Fault('TypeError', "The loop must have the 'recursive' marker to be called recursively.")
    }
    return this.recurse(iterable, this.depth0 + 1)
  }

  iterate(): Iter {
    return { next: () => (this.next() === undefined ? undefined : new Tuple([this.current!, this])) }
  }

  show(): string {
    return `<LoopContext ${this.index0 + 1}/${this.size()}>`
  }
}
