/** Filters on text. */
import { invoke, native, variadic, type Native } from '../binding.ts'
import { needSize, truth } from '../python/iterate.ts'
import { Fault } from '../limits.ts'
import { escape, escapeText } from '../python/markup.ts'
import { methodOf, slice } from '../python/members.ts'
import { replaceText } from '../python/methods-text.ts'
import { optionalText, wantInt } from '../native-arguments.ts'
import { add, modulo } from '../python/operators.ts'
import { str } from '../python/repr.ts'
import * as text from '../python/text.ts'
import { Dict, Markup, textOf, Tuple, typeName, Undefined, type Env, type Value } from '../values.ts'
import { wrapLine } from './wrap.ts'

/** Applies a str method to the value's text, keeping Markup what it is; `absent` is its argument where none is given. */
function viaMethod(name: string, spec = '/', absent?: Value): Native {
  return native(spec, (env, value: Value, ...args) => {
    const soft = value instanceof Markup ? value : str(env.run, value)
    const given = args.filter((arg): arg is Value => arg !== undefined)
    if (given.length === 0 && absent !== undefined) given.push(absent)
    return invoke(env, name, methodOf(soft, name)!, soft, given, undefined)
  })
}

/** The text of a value that must be a str already. */
function needStr(value: Value, method: string): string {
  const found = textOf(value)
  if (found !== undefined) return found
  if (value instanceof Undefined) return value.fail()
  throw new Fault('AttributeError', `'${typeName(value)}' object has no attribute '${method}'`)
}

/** Filters over text; each leaves Markup what it is. */
export const textFilters: readonly [string, Native][] = [
  ['capitalize', viaMethod('capitalize')],
  ['lower', viaMethod('lower')],
  ['upper', viaMethod('upper')],
  ['center', viaMethod('center', 'width?', 80)],
  ['trim', viaMethod('strip', 'chars?')],
  ['title', native('', title)],
  ['string', native('/', (env, value) => (value instanceof Markup ? value : str(env.run, value)))],
  ['replace', native('old new count?', replace)],
  [
    'format',
    variadic((env, value, args, kwargs) => {
      if (args.length > 0 && kwargs && kwargs.size > 0) {
        throw new Fault(
          'FilterArgumentError',
          "can't handle positional and keyword arguments at the same time",
        )
      }
      const named = new Dict()
      for (const [name, given] of kwargs ?? []) named.set(name, given)
      const soft = value instanceof Markup ? value : str(env.run, value)
      return modulo(env.run, soft, named.size > 0 ? named : new Tuple(args))
    }),
  ],
  ['indent', native('width? first? blank?', indent)],
  ['truncate', native('length? killwords? end? leeway?', truncate)],
  ['wordcount', native('', (env, value) => str(env.run, value).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0)],
  ['wordwrap', native('width? break_long_words? wrapstring? break_on_hyphens?', wordwrap)],
]

const TITLE_WORD = new RegExp(`[^-${text.SPACE}({\\[<]+`, 'gu')

function title(env: Env, value: Value): string {
  return str(env.run, value).replace(TITLE_WORD, titleWord)
}

function titleWord(word: string): string {
  const first = word.codePointAt(0)! > 0xffff ? word.slice(0, 2) : word[0]!
  return first.toUpperCase() + word.slice(first.length).toLowerCase()
}

function replace(env: Env, value: Value, old?: Value, by?: Value, count?: Value): Value {
  const { run } = env
  const times = count === undefined || count === null ? -1 : wantInt(count)
  if (!env.escape.on) return replaceText(run, str(run, value), str(run, old!), str(run, by!), times)
  // As soon as one side is safe, the others are made safe before they meet.
  const escapes = old instanceof Markup || (by instanceof Markup && !(value instanceof Markup))
  const subject = escapes ? escape(run, value) : value instanceof Markup ? value : str(run, value)
  if (!(subject instanceof Markup)) return replaceText(run, subject, str(run, old!), str(run, by!), times)
  const from = escape(run, old instanceof Markup ? old : str(run, old!)).text
  const to = escape(run, by instanceof Markup ? by : str(run, by!)).text
  return new Markup(replaceText(run, subject.text, from, to, times))
}

function indent(env: Env, value: Value, width?: Value, first?: Value, blank?: Value): Value {
  const body = textOf(value)
  if (body === undefined) {
    if (value instanceof Undefined) return value.fail()
    return add(env.run, value, '\n')
  }
  const given = textOf(width)
  const count = given === undefined ? Math.max(0, wantInt(width, 4)) : 0
  env.run.text(count)
  const unit = given ?? ' '.repeat(count)
  // Jinja2 adds a line break here, so that a final empty line counts as one.
  const lines = text.splitLines(`${body}\n`)
  env.run.text(body.length + lines.length * unit.length)
  let result: string
  if (blank !== undefined && truth(env.run, blank)) result = lines.join(`\n${unit}`)
  else result = lines.map((line, index) => (index > 0 && line !== '' ? unit + line : line)).join('\n')
  if (first !== undefined && truth(env.run, first)) result = unit + result
  return value instanceof Markup ? new Markup(result) : result
}

function truncate(env: Env, value: Value, length?: Value, kill?: Value, end?: Value, leeway?: Value): Value {
  const most = wantInt(length, 255)
  const tail: Value = end === undefined ? '...' : end
  const tailSize = needSize(env.run, tail)
  const slack = leeway === undefined || leeway === null ? 5 : wantInt(leeway)
  if (most < tailSize) throw new Fault('AssertionError', `expected length >= ${tailSize}, got ${most}`)
  if (slack < 0) throw new Fault('AssertionError', `expected leeway >= 0, got ${slack}`)
  const size = needSize(env.run, value)
  // A few characters too many are left: cutting would hardly make it shorter.
  if (size <= most + slack) return value
  const head = slice(env, value, null, most - tailSize, null)
  const body = textOf(head)
  if (body === undefined || (kill !== undefined && truth(env.run, kill))) return add(env.run, head, tail)
  const space = body.lastIndexOf(' ')
  const kept = space < 0 ? body : body.slice(0, space)
  return add(env.run, head instanceof Markup ? new Markup(kept) : kept, tail)
}

function wordwrap(
  env: Env,
  value: Value,
  width?: Value,
  long?: Value,
  joint?: Value,
  hyphens?: Value,
): Value {
  const body = needStr(value, 'splitlines')
  const by = optionalText(joint, 'wrapstring') ?? '\n'
  const options = {
    width: wantInt(width, 79),
    breakLongWords: long === undefined || truth(env.run, long),
    breakOnHyphens: hyphens === undefined || truth(env.run, hyphens),
  }
  const lines = text.splitLines(body).map((line) => wrapLine(env.run, line, options).join(by))
  env.run.text(body.length + lines.length * by.length)
  const result = lines.join(by)
  return joint instanceof Markup ? new Markup(escapeText(result)) : result
}
