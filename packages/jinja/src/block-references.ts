/** Blocks as values: `super()`, `self.name()`. */
import { reprText } from './python/repr.ts'
import type { Context } from './runtime.ts'
import { Markup, Undefined, type Env, type Thing, type Value } from './values.ts'

/** A block that can be called: what `super` and `self.name` are. */
export class BlockReference implements Thing {
  readonly type = 'BlockReference'
  private readonly name: string
  private readonly context: Context
  private readonly index: number

  constructor(name: string, context: Context, index: number) {
    this.name = name
    this.context = context
    this.index = index
  }

  call(env: Env): Value {
    const { run } = env
    const body = this.context.blocks.get(this.name)![this.index]!
    const outer = run.capture()
    run.enter()
    body(this.context, run)
    run.leave()
    const text = run.release(outer)
    return this.context.escape.on ? new Markup(text) : text
  }

  attribute(name: string): Value | undefined {
    if (name === 'super') return superBlock(this.context, this.name, this.index + 1)
    return name === 'name' ? this.name : undefined
  }
}

/** The block of this name that is so many templates further up; undefined there when there is none. */
export function superBlock(context: Context, name: string, index: number): Value {
  if ((context.blocks.get(name)?.length ?? 0) <= index) {
    return new Undefined(`there is no parent block called '${name}'.`)
  }
  return new BlockReference(name, context, index)
}

/** `self`: the blocks of the template by name. */
export class SelfReference implements Thing {
  readonly type = 'TemplateReference'
  private readonly context: Context

  constructor(context: Context) {
    this.context = context
  }

  item(key: Value): Value | undefined {
    return typeof key === 'string' && this.context.blocks.has(key)
      ? new BlockReference(key, this.context, 0)
      : undefined
  }

  show(): string {
    const { name } = this.context
    return `<TemplateReference ${name === undefined ? 'None' : reprText(name)}>`
  }
}
