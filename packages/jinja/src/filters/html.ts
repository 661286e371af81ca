/** Filters for HTML and URLs. */
import { native, type Native } from '../binding.ts'
import { each, isIterable, toList, truth } from '../python/iterate.ts'
import { Fault, type Run } from '../limits.ts'
import { escape, escaped, escapeText, stripTags } from '../python/markup.ts'
import { optionalText, wantInt } from '../native-arguments.ts'
import { repr, str } from '../python/repr.ts'
import { splitWords } from '../python/text.ts'
import { Dict, isThing, Markup, textOf, Tuple, typeName, Undefined, type Env, type Value } from '../values.ts'
import { urlize } from './urlize.ts'

/** What makes text safe for HTML or a URL, and what marks it as safe already. */
export const htmlFilters: readonly [string, Native][] = [
  ['e', native('/', (env, value) => escape(env.run, value))],
  ['escape', native('/', (env, value) => escape(env.run, value))],
  ['forceescape', native('', (env, value) => new Markup(escapeText(plain(env, value))))],
  ['safe', native('', (env, value) => (value instanceof Markup ? value : new Markup(plain(env, value))))],
  ['striptags', native('', (env, value) => stripTags(env.run, plain(env, value)))],
  ['xmlattr', native('autospace?', xmlAttributes)],
  ['urlencode', native('', urlEncode)],
  ['urlize', native('trim_url_limit? nofollow? target? rel? extra_schemes?', urlizeFilter)],
]

/** The HTML of what has one, and the text of everything else. */
function plain(env: Env, value: Value): string {
  return isThing(value) && value.html ? value.html() : str(env.run, value)
}

/** Characters that would end an attribute's name. */
const NOT_IN_NAME = /[\t\n\r\f\v />=]/

function xmlAttributes(env: Env, value: Value, autospace?: Value): Value {
  if (value instanceof Undefined) return value.fail()
  if (!(value instanceof Dict))
    throw new Fault('AttributeError', `'${typeName(value)}' object has no attribute 'items'`)
  // None and what is undefined leave their attribute out.
  const parts: string[] = []
  for (const [key, one] of value.pairs()) {
    if (one === null || one instanceof Undefined) continue
    const name = textOf(key)
    if (name === undefined)
      throw new Fault('TypeError', `expected string or bytes-like object, got '${typeName(key)}'`)
    if (NOT_IN_NAME.test(name)) {
      throw new Fault('ValueError', `Invalid character in attribute name: ${repr(env.run, key)}`)
    }
    parts.push(`${escaped(env.run, key)}="${escaped(env.run, one)}"`)
  }
  const text = parts.join(' ')
  const spaced = text !== '' && (autospace === undefined || truth(env.run, autospace)) ? ` ${text}` : text
  env.run.text(spaced.length)
  return env.escape.on ? new Markup(spaced) : spaced
}

function urlEncode(env: Env, value: Value): string {
  const { run } = env
  if (textOf(value) !== undefined || !isIterable(value)) return quoteUrl(run, str(run, value), '/')
  const pairs = value instanceof Dict ? value.pairs().map((pair) => new Tuple(pair)) : each(run, value)
  const parts: string[] = []
  for (const pair of pairs) {
    const items = toList(run, pair)
    if (items.length !== 2) throw new Fault('ValueError', 'urlencode needs pairs of key and value')
    parts.push(items.map((item) => quoteUrl(run, str(run, item), '').replaceAll('%20', '+')).join('='))
  }
  return parts.join('&')
}

function quoteUrl(run: Run, text: string, safe: string): string {
  run.text(text.length * 3)
  if (/\p{Cs}/u.test(text)) throw new Fault('ValueError', 'surrogates not allowed')
  // Python also quotes these five.
  const encoded = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return safe === '/' ? encoded.replaceAll('%2F', '/') : encoded
}

const SCHEME = /^[\p{L}\p{N}_.+-]{2,}:\/{0,2}$/u

function urlizeFilter(
  env: Env,
  value: Value,
  limit?: Value,
  nofollow?: Value,
  target?: Value,
  rel?: Value,
  schemes?: Value,
): Value {
  const { run } = env
  const rels = new Set(splitWords(optionalText(rel, 'rel') ?? ''))
  if (nofollow !== undefined && truth(run, nofollow)) rels.add('nofollow')
  rels.add('noopener')
  const extra: string[] = []
  if (schemes !== undefined && schemes !== null) {
    for (const scheme of each(run, schemes)) {
      const text = textOf(scheme)
      if (text === undefined || !SCHEME.test(text)) {
        throw new Fault('FilterArgumentError', `${repr(run, scheme)} is not a valid URI scheme prefix.`)
      }
      extra.push(text)
    }
  }
  const result = urlize(run, escape(run, value).text, {
    limit: limit === undefined || limit === null ? undefined : wantInt(limit),
    rel: [...rels].sort().join(' '),
    target: optionalText(target, 'target'),
    schemes: extra,
  })
  return env.escape.on ? new Markup(result) : result
}
