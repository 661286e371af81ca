/** What the global functions cycler, joiner and namespace make. */
import { native } from './binding.ts'
import { Bound } from './bound.ts'
import type { Run } from './limits.ts'
import { repr } from './python/repr.ts'
import { Tuple, type Dict, type Thing, type Value } from './values.ts'

const next = native('/', (_env, self) => (self as Cycler).next())
const reset = native('/', (_env, self) => (self as Cycler).reset())

/** What `cycler(…)` makes. */
export class Cycler implements Thing {
  readonly type = 'Cycler'
  private readonly items: Value[]
  private place = 0

  constructor(items: Value[]) {
    this.items = items
  }

  next(): Value {
    const item = this.items[this.place]!
    this.place = (this.place + 1) % this.items.length
    return item
  }

  reset(): null {
    this.place = 0
    return null
  }

  attribute(name: string): Value | undefined {
    if (name === 'next') return new Bound(this, name, next)
    if (name === 'reset') return new Bound(this, name, reset)
    if (name === 'current') return this.items[this.place]!
    if (name === 'items') return new Tuple(this.items.slice())
    return name === 'pos' ? this.place : undefined
  }

  show(): string {
    return '<jinja2.utils.Cycler object at 0x7f0000000000>'
  }
}

/** What `joiner(…)` makes: nothing the first time, its separator from then on. */
export class Joiner implements Thing {
  readonly type = 'Joiner'
  private readonly separator: Value
  private used = false

  constructor(separator: Value) {
    this.separator = separator
  }

  call(): Value {
    if (this.used) return this.separator
    this.used = true
    return ''
  }

  attribute(name: string): Value | undefined {
    if (name === 'sep') return this.separator
    return name === 'used' ? this.used : undefined
  }

  show(): string {
    return '<jinja2.utils.Joiner object at 0x7f0000000000>'
  }
}

/** What `namespace(…)` makes: attributes that inner scopes may assign. */
export class Namespace implements Thing {
  readonly type = 'Namespace'
  readonly attributes: Dict

  constructor(attributes: Dict) {
    this.attributes = attributes
  }

  attribute(name: string): Value | undefined {
    return this.attributes.get(name)
  }

  show(run: Run): string {
    return `<Namespace ${repr(run, this.attributes)}>`
  }
}
