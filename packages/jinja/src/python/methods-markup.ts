/** The methods of Markup: those of str, escaping what they are given and marking what they return. */
import { native, type Native } from '../binding.ts'
import { each } from './iterate.ts'
import { escape, stripTags, unescape } from './markup.ts'
import { textMethods } from './methods-text.ts'
import { isThing, Markup, Tuple, type Env, type Value } from '../values.ts'

/** Methods that give Markup again. */
const WRAPPED = (
  'capitalize title lower upper replace ljust rjust lstrip rstrip center strip translate expandtabs swapcase zfill ' +
  'partition rpartition split rsplit splitlines'
).split(' ')
/** Methods whose arguments go in as they are. */
const UNESCAPED = new Set(['split', 'rsplit', 'splitlines'])

/** By name, the methods in which Markup differs from plain text. */
export const markupMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ...wrapped(),
  ['join', native('iterable /', join)],
  ['striptags', native('/', (env, self) => stripTags(env.run, (self as Markup).text))],
  ['unescape', native('/', (_env, self) => unescape((self as Markup).text))],
])

function wrapped(): [string, Native][] {
  return WRAPPED.map((name) => [name, wrap(textMethods.get(name)!, UNESCAPED.has(name))])
}

function wrap(method: Native, plainArguments: boolean): Native {
  return {
    ...method,
    fn(env, self, ...args) {
      const given = plainArguments ? args : args.map((arg) => escapeArgument(env, arg))
      return mark(method.fn(env, (self as Markup).text, ...given))
    },
  }
}

function escapeArgument(env: Env, value: Value | undefined): Value | undefined {
  if (value === undefined) return undefined
  const escapes = typeof value === 'string' || value instanceof Markup || (isThing(value) && 'html' in value)
  return escapes ? escape(env.run, value).text : value
}

function mark(value: Value): Value {
  if (typeof value === 'string') return new Markup(value)
  if (Array.isArray(value)) return value.map(mark)
  return value instanceof Tuple ? new Tuple(value.items.map(mark)) : value
}

function join(env: Env, self: Value, items: Value | undefined): Markup {
  const parts: string[] = []
  for (const item of each(env.run, items ?? null)) parts.push(escape(env.run, item).text)
  const text = parts.join((self as Markup).text)
  env.run.text(text.length)
  return new Markup(text)
}
