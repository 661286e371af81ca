/** Assignment: to a name, to a namespace's attribute, or unpacked into several. */
import type { Target } from '../reading/ast.ts'
import { placeOf, reader, writer, type Compiler, type Level } from './compiler.ts'
import { iterate } from '../python/iterate.ts'
import { Fault } from '../limits.ts'
import { Namespace } from '../global-objects.ts'
import type { Frame } from '../runtime.ts'
import { isThing, textOf, Tuple, typeName, Undefined, type Value } from '../values.ts'

/** Stores a value. */
export type Assign = (frame: Frame, value: Value) => void

/** The code that assigns to a target; top-level names also become part of the context. */
export function compileTarget(compiler: Compiler, target: Target, level: Level): Assign {
  if (target.kind === 'name') return compileNameTarget(target.name, level)
  const at = placeOf(compiler, target.at)
  if (target.kind === 'nsref') {
    const read = reader(level.routine, level.scope.findRef(target.name)!)
    const { attribute } = target
    return (frame, value) => {
      const namespace = read(frame)
      frame.run.at = at
      if (!(namespace instanceof Namespace)) {
        throw new Fault('TemplateRuntimeError', 'cannot assign attribute on non-namespace object')
      }
      frame.run.items(namespace.attributes.size + 1)
      namespace.attributes.set(attribute, value)
    }
  }
  const parts = target.items.map((item) => compileTarget(compiler, item as Target, level))
  return (frame, value) => {
    frame.run.at = at
    const values = unpack(frame, value, parts.length)
    for (let i = 0; i < parts.length; i++) parts[i]!(frame, values[i]!)
  }
}

function compileNameTarget(name: string, level: Level): Assign {
  const write = writer(level.scope.findRef(name)!)
  if (!level.toplevel) return write
  const isPublic = !name.startsWith('_')
  return (frame, value) => {
    write(frame, value)
    frame.context.vars.set(name, value)
    if (isPublic) frame.context.exported.add(name)
  }
}

/** Exactly so many values. */
function unpack(frame: Frame, value: Value, count: number): Value[] {
  if (value instanceof Tuple || Array.isArray(value)) {
    const items = value instanceof Tuple ? value.items : value
    if (items.length === count) return items
  }
  if (typeof value !== 'object' && textOf(value) === undefined) cannotUnpack(value)
  if (value === null || (isThing(value) && !value.iterate)) cannotUnpack(value)
  const source = iterate(frame.run, value)
  const values: Value[] = []
  for (let item = source.next(); item !== undefined; item = source.next()) {
    if (values.length === count)
      throw new Fault('ValueError', `too many values to unpack (expected ${count})`)
    values.push(item)
  }
  if (values.length < count && !(value instanceof Undefined && count === 0)) {
    throw new Fault('ValueError', `not enough values to unpack (expected ${count}, got ${values.length})`)
  }
  return values
}

function cannotUnpack(value: Value): never {
  throw new Fault('TypeError', `cannot unpack non-iterable ${typeName(value)} object`)
}
