/** The methods of str. */
import { native, type Native } from '../binding.ts'
import { each } from './iterate.ts'
import { Fault, type Run } from '../limits.ts'
import { bounds, optionalText, wantInt, wantText } from '../native-arguments.ts'
import * as text from './text.ts'
import { encoded } from './bytes.ts'
import { Dict, isInt, textOf, Tuple, typeName, type Env, type Value } from '../values.ts'

const CASED_WORD = /^[\p{L}\p{N}]+$/u
const IDENTIFIER = /^[\p{XID_Start}_]\p{XID_Continue}*$/u

/** A method without arguments. */
function of(fn: (self: string) => Value): Native {
  return native('/', (_env, self) => fn(self as string))
}

/** A test of every character, which fails for the empty text as in Python. */
function matches(pattern: RegExp): Native {
  return of((self) => self !== '' && pattern.test(self))
}

/** By name, all methods of str but format and format_map (they look members up: `members.ts`). */
export const textMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ['capitalize', of(text.capitalize)],
  ['casefold', of((self) => self.toLowerCase().replaceAll('ß', 'ss').replaceAll('ς', 'σ'))],
  ['center', padding((body, size, by) => text.center(body, size, by))],
  ['ljust', padding((body, size, by) => body + missing(body, size, by))],
  ['rjust', padding((body, size, by) => missing(body, size, by) + body)],
  ['zfill', native('width /', zfill)],
  ['count', native('sub start? end? /', count)],
  ['encode', native('encoding? errors?', (_, self, name, errors) => encoded(self as string, name, errors))],
  ['endswith', affix('endswith', (within, one) => within.endsWith(one))],
  ['startswith', affix('startswith', (within, one) => within.startsWith(one))],
  ['expandtabs', native('tabsize?', expandTabs)],
  ['find', finding('indexOf', (at) => at)],
  ['rfind', finding('lastIndexOf', (at) => at)],
  ['index', finding('indexOf', found)],
  ['rindex', finding('lastIndexOf', found)],
  ['isalnum', matches(CASED_WORD)],
  ['isalpha', matches(/^\p{L}+$/u)],
  ['isascii', of((self) => !/[^\x00-\x7f]/.test(self))],
  ['isdecimal', matches(/^\p{Nd}+$/u)],
  // Python counts as digits some that are none in decimal numbers: superscripts, subscripts, circles.
  ['isdigit', matches(/^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468]+$/u)],
  ['isidentifier', matches(IDENTIFIER)],
  ['islower', of(text.isLower)],
  ['isnumeric', matches(/^\p{N}+$/u)],
  ['isprintable', of((self) => !/[^\P{C}]|[^\P{Z} ]/u.test(self))],
  ['isspace', of(text.isSpace)],
  ['istitle', of(text.isTitle)],
  ['isupper', of(text.isUpper)],
  ['join', native('iterable /', join)],
  ['lower', of((self) => self.toLowerCase())],
  ['upper', of((self) => self.toUpperCase())],
  ['lstrip', stripping('lstrip', text.stripStart)],
  ['rstrip', stripping('rstrip', text.stripEnd)],
  ['strip', stripping('strip', text.strip)],
  ['maketrans', native('x y? z? /', makeTranslation)],
  ['translate', native('table /', translate)],
  ['partition', native('sep /', (_env, self, sep) => partition(self as string, sep, 'indexOf'))],
  ['rpartition', native('sep /', (_env, self, sep) => partition(self as string, sep, 'lastIndexOf'))],
  ['removeprefix', removing('removeprefix', withoutPrefix)],
  ['removesuffix', removing('removesuffix', withoutSuffix)],
  ['replace', native('old new count? /', replace)],
  ['split', splitting(false)],
  ['rsplit', splitting(true)],
  ['splitlines', native('keepends?', splitLines)],
  ['swapcase', of(text.swapCase)],
  ['title', of(text.titleCase)],
])

/** `center`, `ljust` and `rjust`, charged by the width before anything is made. */
function padding(pad: (body: string, size: number, by: string) => string): Native {
  return native('width fill? /', ({ run }, self, width, fill) => {
    const by = fill === undefined ? ' ' : wantText(fill, 'the fill character')
    if (text.lengthOf(by) !== 1)
      throw new Fault('TypeError', 'The fill character must be exactly one character long')
    const size = wantInt(width)
    run.text(size)
    return pad(self as string, size, by)
  })
}

/** What makes a text as long as that. */
function missing(body: string, size: number, by: string): string {
  return by.repeat(Math.max(0, size - text.lengthOf(body)))
}

function zfill(env: Env, self: Value, width: Value | undefined): string {
  const body = self as string
  const size = wantInt(width)
  env.run.text(size)
  // The sign stays in front of the zeros.
  const sign = /^[+-]/.test(body) ? body[0]! : ''
  return sign + missing(body, size, '0') + body.slice(sign.length)
}

/** `strip` and its kin, of white space or of the characters given. */
function stripping(name: string, strip: (body: string, set?: string) => string): Native {
  return native('chars? /', (_env, self, set) => strip(self as string, optionalText(set, `${name} arg`)))
}

/** The part between two indexes, and where it starts in UTF-16 units. */
function part(body: string, start: Value | undefined, end: Value | undefined): string | undefined {
  if (start === undefined && end === undefined) return body
  const all = text.chars(body)
  const [from, to] = bounds(start, end, all.length)
  if (from > to || (start !== undefined && start !== null && wantInt(start) > all.length)) return undefined
  return all.slice(from, to).join('')
}

function count(env: Env, self: Value, sub: Value | undefined, start?: Value, end?: Value): number {
  const wanted = wantText(sub, 'count() argument 1')
  const within = part(self as string, start, end)
  if (within === undefined) return 0
  env.run.text(within.length)
  // Nothing is found between all characters, and at both ends.
  return wanted === '' ? text.lengthOf(within) + 1 : within.split(wanted).length - 1
}

/** `find` and its kin; `tell` says what a place means, or that there is none. */
function finding(how: 'indexOf' | 'lastIndexOf', tell: (at: number) => number): Native {
  return native('sub start? end? /', (_env, self, sub, start, end) => {
    const body = self as string
    const wanted = wantText(sub, 'must be str, not the argument: it')
    const within = part(body, start, end)
    const at = within === undefined ? -1 : within[how](wanted)
    if (within === undefined || at < 0) return tell(-1)
    // Python counts code points, JavaScript UTF-16 units: what lies before is counted again.
    const offset = start === undefined || start === null ? 0 : bounds(start, end, text.lengthOf(body))[0]
    return offset + text.lengthOf(within.slice(0, at))
  })
}

function found(index: number): number {
  if (index < 0) throw new Fault('ValueError', 'substring not found')
  return index
}

/** `startswith` and `endswith`, which take one text or a tuple of several. */
function affix(name: string, has: (within: string, one: string) => boolean): Native {
  return native('affix start? end? /', (_env, self, wanted, start, end) => {
    const within = part(self as string, start, end)
    const options = wanted instanceof Tuple ? wanted.items : [wanted]
    return options.some((option) => {
      const one = textOf(option)
      if (one !== undefined) return within !== undefined && has(within, one)
      const kind = typeName(option ?? null)
      throw new Fault('TypeError', `${name} first arg must be str or a tuple of str, not ${kind}`)
    })
  })
}

/** `str.expandtabs`: each tab up to the next multiple of its size, counted from the start of the line. */
function expandTabs(env: Env, self: Value, size?: Value): string {
  const width = wantInt(size, 8)
  let column = 0
  let result = ''
  for (const char of self as string) {
    if (char === '\t') {
      const spaces = width > 0 ? width - (column % width) : 0
      env.run.text(result.length + spaces)
      result += ' '.repeat(spaces)
      column += spaces
    } else {
      result += char
      column = char === '\n' || char === '\r' ? 0 : column + 1
    }
  }
  return result
}

function join(env: Env, self: Value, items: Value | undefined): string {
  const parts: string[] = []
  let length = 0
  for (const item of each(env.run, items ?? null)) {
    const one = textOf(item)
    if (one === undefined) {
      throw new Fault(
        'TypeError',
        `sequence item ${parts.length}: expected str instance, ${typeName(item)} found`,
      )
    }
    length += one.length + (self as string).length
    // While it grows, so that it is bounded before it is joined.
    env.run.text(length)
    parts.push(one)
  }
  return parts.join(self as string)
}

/** `str.maketrans`: a dict from code points to what stands for them; None takes the character out. */
function makeTranslation(env: Env, _self: Value, x: Value | undefined, y?: Value, z?: Value): Dict {
  const table = new Dict()
  if (y === undefined) {
    if (!(x instanceof Dict))
      throw new Fault('TypeError', 'if you give only one argument to maketrans it must be a dict')
    for (const [key, value] of x.pairs())
      table.set(typeof key === 'string' ? key.codePointAt(0)! : key, value)
    return table
  }
  const from = text.chars(wantText(x, 'maketrans() argument 1'))
  const to = text.chars(wantText(y, 'maketrans() argument 2'))
  if (from.length !== to.length) {
    throw new Fault('ValueError', 'the first two maketrans arguments must have equal length')
  }
  env.run.items(from.length)
  from.forEach((char, index) => table.set(char.codePointAt(0)!, to[index]!.codePointAt(0)!))
  if (z !== undefined)
    for (const char of wantText(z, 'maketrans() argument 3')) table.set(char.codePointAt(0)!, null)
  return table
}

/** `str.translate`, with a dict as `maketrans` makes it. */
function translate(env: Env, self: Value, table: Value | undefined): string {
  if (!(table instanceof Dict))
    throw new Fault('TypeError', `'${typeName(table ?? null)}' object is not subscriptable`)
  let result = ''
  for (const char of self as string) {
    const to = table.get(char.codePointAt(0)!)
    if (to === undefined) result += char
    else if (to !== null && isInt(to))
      result += String.fromCodePoint(Math.min(Math.max(0, Number(to)), 0x10ffff))
    else if (to !== null) result += wantText(to, 'character mapping')
    env.run.text(result.length)
  }
  return result
}

/** `str.partition` and `rpartition`: always three parts, so that they can be unpacked. */
function partition(self: string, sep: Value | undefined, how: 'indexOf' | 'lastIndexOf'): Tuple {
  const by = wantText(sep, 'the separator')
  if (by === '') throw new Fault('ValueError', 'empty separator')
  const at = self[how](by)
  if (at < 0) return new Tuple(how === 'indexOf' ? [self, '', ''] : ['', '', self])
  return new Tuple([self.slice(0, at), by, self.slice(at + by.length)])
}

/** `removeprefix` and `removesuffix`. */
function removing(name: string, cut: (body: string, affix: string) => string): Native {
  return native('affix /', (_env, self, affix) => cut(self as string, wantText(affix, `${name}() argument`)))
}

function withoutPrefix(body: string, start: string): string {
  return body.startsWith(start) ? body.slice(start.length) : body
}

function withoutSuffix(body: string, end: string): string {
  return body.endsWith(end) ? body.slice(0, body.length - end.length) : body
}

function replace({ run }: Env, self: Value, old?: Value, by?: Value, count?: Value): string {
  const [from, to] = [wantText(old, 'replace() argument 1'), wantText(by, 'replace() argument 2')]
  return replaceText(run, self as string, from, to, wantInt(count, -1))
}

/** `str.replace(old, by, count)`; a negative count replaces all. */
export function replaceText(run: Run, body: string, old: string, by: string, count: number): string {
  if (count === 0) return body
  // Nothing is found between all characters, as in Python.
  const parts = old === '' ? ['', ...text.chars(body), ''] : body.split(old)
  const times = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1)
  if (times === 0) return body
  run.text(body.length + times * Math.max(0, by.length - old.length))
  if (times === parts.length - 1) return parts.join(by)
  const head = parts.slice(0, times + 1).join(by)
  return head + (old === '' ? '' : old) + parts.slice(times + 1).join(old)
}

/** `str.split` and `rsplit`, which differ only where the splits are limited. */
function splitting(fromEnd: boolean): Native {
  return native('sep? maxsplit?', (env, self, sep, limit) => {
    const body = self as string
    const by = optionalText(sep, 'the separator')
    const most = wantInt(limit, -1)
    // Without a separator, runs of white space count as one and none stands at the ends.
    if (by === undefined) {
      const words = fromEnd && most >= 0 ? text.splitWordsFromEnd : text.splitWords
      return counted(env, words(body, most))
    }
    if (by === '') throw new Fault('ValueError', 'empty separator')
    const parts = body.split(by)
    if (most < 0 || parts.length <= most + 1) return counted(env, parts)
    const cut = fromEnd ? parts.length - most : most
    const [head, tail] = [parts.slice(0, cut), parts.slice(cut)]
    return counted(env, fromEnd ? [head.join(by), ...tail] : [...head, tail.join(by)])
  })
}

function splitLines(env: Env, self: Value, keepEnds?: Value): Value[] {
  return counted(env, text.splitLines(self as string, keepEnds !== undefined && wantInt(keepEnds) !== 0))
}

/** Charges for a list that was made. */
function counted(env: Env, items: Value[]): Value[] {
  env.run.items(items.length)
  return items
}
