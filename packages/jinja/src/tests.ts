/** The tests of Jinja2: `value is name(…)`. */
import { native, type Native } from './binding.ts'
import { contains, equals, ordered, same, type Order } from './python/compare.ts'
import { isIterable, isSequence } from './python/iterate.ts'
import { modulo } from './python/operators.ts'
import { str } from './python/repr.ts'
import { isLower, isUpper } from './python/text.ts'
import {
  Dict,
  hashKey,
  isFloat,
  isInt,
  isNumber,
  isThing,
  Markup,
  textOf,
  Undefined,
  type Env,
  type Value,
} from './values.ts'

function is(fn: (value: Value, env: Env) => boolean): Native {
  return native('', (env, value) => fn(value, env))
}

function order(by: Order): Native {
  return native('b /', (env, a: Value, b) => ordered(env.run, a, b!, by))
}

const equal = native('b /', (env, a: Value, b) => equals(env.run, a, b!))
const unequal = native('b /', (env, a: Value, b) => !equals(env.run, a, b!))

function remainder(env: Env, value: Value, by: Value): Value {
  return modulo(env.run, value, by)
}

/** All tests by name; `filters` is asked by `is filter`. */
export function makeTests(filters: ReadonlyMap<string, Native>): ReadonlyMap<string, Native> {
  const tests: Map<string, Native> = new Map<string, Native>([
    ['odd', is((value, env) => equals(env.run, remainder(env, value, 2), 1))],
    ['even', is((value, env) => equals(env.run, remainder(env, value, 2), 0))],
    ['divisibleby', native('num', (env, value, num) => equals(env.run, remainder(env, value, num!), 0))],
    ['defined', is((value) => !(value instanceof Undefined))],
    ['undefined', is((value) => value instanceof Undefined)],
    ['none', is((value) => value === null)],
    ['boolean', is((value) => typeof value === 'boolean')],
    ['false', is((value) => value === false)],
    ['true', is((value) => value === true)],
    ['integer', is((value) => isInt(value) && typeof value !== 'boolean')],
    ['float', is(isFloat)],
    ['number', is(isNumber)],
    ['string', is((value) => textOf(value) !== undefined)],
    ['lower', is((value, env) => isLower(str(env.run, value)))],
    ['upper', is((value, env) => isUpper(str(env.run, value)))],
    ['mapping', is((value) => value instanceof Dict)],
    ['sequence', is(isSequence)],
    ['iterable', is(isIterable)],
    // An undefined counts as callable in Jinja2, since its class defines the call that fails.
    ['callable', is((value) => value instanceof Undefined || (isThing(value) && value.call !== undefined))],
    ['sameas', native('other', (_env, value, other) => same(value, other!))],
    ['escaped', is((value) => value instanceof Markup || (isThing(value) && value.html !== undefined))],
    ['in', native('seq', (env, value, seq) => contains(env.run, seq!, value))],
    // Whether a name is known at all, for templates that are to run on several versions.
    ['filter', is((value) => named(filters, value))],
    ['test', is((value): boolean => named(tests, value))],
    ...names(equal, '==', 'eq', 'equalto'),
    ...names(unequal, '!=', 'ne'),
    ...names(order('>'), '>', 'gt', 'greaterthan'),
    ...names(order('>='), '>=', 'ge'),
    ...names(order('<'), '<', 'lt', 'lessthan'),
    ...names(order('<='), '<=', 'le'),
  ])
  return tests
}

function names(test: Native, ...all: string[]): [string, Native][] {
  return all.map((name) => [name, test])
}

/** Whether a table has the name; like a lookup in a dict it fails for what has no hash. */
function named(table: ReadonlyMap<string, Native>, name: Value): boolean {
  return hashKey(name) !== undefined && table.has(textOf(name) ?? '')
}
