/** Filters that apply other filters and tests to each item. */
import { invoke, native, variadic, type Native } from '../binding.ts'
import { each, Lazy, truth } from '../python/iterate.ts'
import { Fault } from '../limits.ts'
import { onlyAttribute } from '../python/members.ts'
import { repr } from '../python/repr.ts'
import { textOf, Undefined, type Env, type Kwargs, type Value } from '../values.ts'
import { getter } from './attributes.ts'

type Table = ReadonlyMap<string, Native>

/** These need the tables of all filters and tests, themselves among them. */
export function selectFilters(tables: {
  readonly filters: Table
  readonly tests: Table
}): [string, Native][] {
  const select = (positive: boolean, byAttribute: boolean): Native =>
    variadic((env, value, args, kwargs) => {
      const source = selecting(env, tables.tests, value, args, kwargs, positive, byAttribute)
      return new Lazy('select_or_reject', source)
    })
  return [
    [
      'map',
      variadic(
        (env, value, args, kwargs) =>
          new Lazy('sync_do_map', mapping(env, tables.filters, value, args, kwargs)),
      ),
    ],
    ['select', select(true, false)],
    ['reject', select(false, false)],
    ['selectattr', select(true, true)],
    ['rejectattr', select(false, true)],
    ['default', native('default_value? boolean?', orDefault)],
    ['d', native('default_value? boolean?', orDefault)],
    ['attr', native('name', attr)],
  ]
}

function orDefault(env: Env, value: Value, absent?: Value, boolean?: Value): Value {
  if (value instanceof Undefined) return absent === undefined ? '' : absent
  const strict = boolean !== undefined && truth(env.run, boolean)
  return strict && !truth(env.run, value) ? (absent === undefined ? '' : absent) : value
}

function attr(env: Env, value: Value, name?: Value): Value {
  const text = textOf(name)
  if (text === undefined) throw new Fault('TypeError', 'attribute name must be string')
  return onlyAttribute(env, value, text)
}

/** Calls a filter or test by a name that is only known now. */
function byName(
  env: Env,
  table: Table,
  what: string,
  name: Value,
): (value: Value, args: Value[], kwargs?: Kwargs) => Value {
  const text = textOf(name)
  const target = text === undefined ? undefined : table.get(text)
  if (!target) {
    const hint =
      name instanceof Undefined ? ` (${name.message}; did you forget to quote the callable name?)` : ''
    throw new Fault('TemplateRuntimeError', `No ${what} named ${repr(env.run, name)}.${hint}`)
  }
  return (value, args, kwargs) => {
    env.run.tick(1)
    return invoke(env, text!, target, value, args, kwargs)
  }
}

function* mapping(
  env: Env,
  filters: Table,
  value: Value,
  args: Value[],
  kwargs: Kwargs | undefined,
): Generator<Value, undefined> {
  if (!truth(env.run, value)) return undefined
  if (args.length === 0 && kwargs?.has('attribute')) {
    const unexpected = [...kwargs.keys()].find((key) => key !== 'attribute' && key !== 'default')
    if (unexpected !== undefined) {
      throw new Fault('FilterArgumentError', `Unexpected keyword argument '${unexpected}'`)
    }
    const pick = getter(env, kwargs.get('attribute'), kwargs.get('default'))
    for (const one of each(env.run, value)) yield pick(one)
    return undefined
  }
  const [name, ...rest] = args
  if (name === undefined) throw new Fault('FilterArgumentError', 'map requires a filter argument')
  let filter: ReturnType<typeof byName> | undefined
  for (const one of each(env.run, value)) {
    // Looked up at the first item only: over nothing, an unknown name is no fault in Jinja2.
    filter ??= byName(env, filters, 'filter', name)
    yield filter(one, rest, kwargs)
  }
  return undefined
}

function* selecting(
  env: Env,
  tests: Table,
  value: Value,
  args: Value[],
  kwargs: Kwargs | undefined,
  positive: boolean,
  byAttribute: boolean,
): Generator<Value, undefined> {
  if (!truth(env.run, value)) return undefined
  const [attribute] = args
  if (byAttribute && attribute === undefined) {
    throw new Fault('FilterArgumentError', 'Missing parameter for attribute name')
  }
  const pick = byAttribute ? getter(env, attribute) : undefined
  const [name, ...rest] = byAttribute ? args.slice(1) : args
  let test: ReturnType<typeof byName> | undefined
  for (const one of each(env.run, value)) {
    const subject = pick ? pick(one) : one
    if (name !== undefined) test ??= byName(env, tests, 'test', name)
    const result = test ? test(subject, rest, kwargs) : subject
    if (truth(env.run, result) === positive) yield one
  }
  return undefined
}
