/** A method taken from its value: `{% set up = name.upper %}{{ up() }}`. */
import { invoke, type Native } from './binding.ts'
import { typeName, type Env, type Kwargs, type Thing, type Value } from './values.ts'

/** A value's method, callable later. */
export class Bound implements Thing {
  readonly type = 'builtin_function_or_method'
  private readonly self: Value
  private readonly name: string
  private readonly method: Native

  constructor(self: Value, name: string, method: Native) {
    this.self = self
    this.name = name
    this.method = method
  }

  call(env: Env, args: Value[], kwargs: Kwargs | undefined): Value {
    return invoke(env, this.name, this.method, this.self, args, kwargs)
  }

  show(): string {
    return `<built-in method ${this.name} of ${typeName(this.self)} object at 0x7f0000000000>`
  }
}
