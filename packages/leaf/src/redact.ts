/** Removes secrets from log and audit records: values under secret-like keys at any depth, and token-like texts anywhere. */

const marker = '[redacted]'
/** The mark of a cut. A single character beyond Latin-1 would make a line cost 10 µs more. */
const cut = '...'
/** The most keys of an object: nobody reads more of them in a log, and the audit log would cut them away. */
const mostKeys = 2000
/** The number of characters of a text that are searched and kept, which is more than a record may have. */
const longestText = 262_144
/** The longest word that is dropped whole where a text is cut: half a secret would not be recognized as one. */
const longestWord = 8192

// Matches whole words of a key: `access_token`, `apiKey`, `x-api-key` are secret; `input_tokens`, `author`, `token_type` are not.
const secretKey =
  /(^|[_\-.\s])(password|passwd|passphrase|secret|token|credentials?|authorization|cookie|assertion|(?:api|private|access)[_\-\s]?key|code[_\-\s]?verifier|signature)$/i
// None of these may rescan a text from each place where it could begin, since callers choose the texts. So a JWT is
// searched once in each run of its letters, and only where two more parts follow; a private key without an end goes
// to the end of the text.
const secretValue =
  /\b(Bearer|Basic|token)\s+[A-Za-z0-9._~+/:-]{8,}=*|\bac_[a-z]{2,4}_[A-Za-z0-9_-]{16,}|(?<![\w-])(?=[\w-]+\.[\w-]+\.)(?:[\w-]*?-)?eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g

const shortestSecret = 14
/** A prefilter: every secret that the expression finds contains one of these, and searching for them costs a tenth of it. */
const beginning = /ac_|eyJ|Bearer|Basic|token|-----BEGIN/

/** Options for what else a copy leaves out. */
export interface RedactOptions {
  /** Fields whose values are removed at any depth: under their name, beside it in a list, in a text that has it. */
  readonly names?: ReadonlySet<string>
  /** Where to add the removed values, to look for them elsewhere. */
  readonly removed?: Set<string>
  /** The approximate most characters of JSON of the copy; what comes after is only counted. */
  readonly most?: number
}

const noPaths: ReadonlySet<string> = new Set()

interface Rules {
  readonly paths: ReadonlySet<string>
  readonly names: ReadonlySet<string> | undefined
  readonly removed: Set<string> | undefined
  left: number
}

/** Returns a JSON-like value without secrets: itself if it has none, or a copy. `paths` (dotted, from the root) go as well. */
export function redact(
  value: unknown,
  paths: readonly string[] = [],
  { names, removed, most = Infinity }: RedactOptions = {},
): unknown {
  const named = names && names.size > 0 ? names : undefined
  const rules = { paths: paths.length === 0 ? noPaths : new Set(paths), names: named, removed, left: most }
  return walk(value, '', rules, 0)
}

/** Returns a text in which nothing quoted and no number is left if it has one of the names: both may be its value. */
export function withoutLiterals(text: string, names: ReadonlySet<string>): string {
  if (names.size === 0 || !expressionOf(names).test(text)) return text
  return text.replace(/'[^']*'|"[^"]*"|\d[\d.,_:-]*/g, (literal) =>
    names.has(literal.slice(1, -1)) ? literal : marker,
  )
}

const expressions = new WeakMap<ReadonlySet<string>, RegExp>()

function expressionOf(names: ReadonlySet<string>): RegExp {
  let known = expressions.get(names)
  if (!known) {
    const words = [...names].map((name) => name.replace(/\W/g, String.raw`\$&`))
    expressions.set(
      names,
      (known = new RegExp(String.raw`(?<![a-z0-9])(?:${words.join('|')})(?![a-z0-9])`, 'i')),
    )
  }
  return known
}

/** Returns a text without the tokens in it. */
export function redactText(text: string): string {
  // The expression finds no shorter secret.
  if (text.length < shortestSecret || !beginning.test(text)) return text
  return text.replace(secretValue, (match) => {
    const scheme = /^(Bearer|Basic|token)\s/.exec(match)
    return scheme ? `${scheme[1]} ${marker}` : marker
  })
}

function walk(value: unknown, path: string, rules: Rules, depth: number): unknown {
  if (typeof value === 'string') return fitting(value, rules)
  if (typeof value !== 'object' || value === null) {
    rules.left -= 6
    return value
  }
  if (depth > 64) return '[too deep]'
  if (value instanceof Date) return fitting(value.toISOString(), rules)
  if (Array.isArray(value)) return list(value, path, rules, depth)
  // Decimals, URLs and the like have a text of their own.
  const text = ownText(value)
  if (text !== undefined) return fitting(text, rules)
  return record(value as Readonly<Record<string, unknown>>, path, rules, depth)
}

function record(
  value: Readonly<Record<string, unknown>>,
  path: string,
  rules: Rules,
  depth: number,
): Readonly<Record<string, unknown>> {
  const keys = Object.keys(value)
  rules.left -= 2
  // A value with a `toJSON` or a prototype of its own is copied, since its JSON may differ from its members.
  let clean = isPlain(value) ? undefined : copyOf(value, keys, 0)
  let kept = 0
  const names = rules.names !== undefined && fieldKeys.some((key) => isNamed(value[key], rules))
  for (const key of keys) {
    if (kept === mostKeys || rules.left <= 0) {
      clean ??= copyOf(value, keys, kept)
      clean[cut] = kept === mostKeys ? 'more' : `${keys.length - kept} more`
      break
    }
    rules.left -= key.length + 4
    const here = rules.paths.size === 0 ? '' : path === '' ? key : `${path}.${key}`
    const secret =
      rules.paths.has(here) || rules.names?.has(key) === true || isSecretKey(key) || (names && !told.has(key))
    const item = value[key]
    const shown =
      secret && item !== null && item !== undefined ? gone(item, rules) : walk(item, here, rules, depth + 1)
    if (shown !== item) clean ??= copyOf(value, keys, kept)
    if (clean) put(clean, key, shown)
    kept++
  }
  return clean ?? value
}

/** The members of an object that names a field and a value of it, such as a filter or a change. */
const fieldKeys = ['field', 'fieldname'] as const
const told: ReadonlySet<string> = new Set(
  'field fieldname doctype operator op name label function type as order direction'.split(' '),
)

function isNamed(item: unknown, { names }: Rules): boolean {
  return typeof item === 'string' && names?.has(item) === true
}

function gone(item: unknown, { removed }: Rules): string {
  if (removed) remember(item, removed, 0)
  return marker
}

/** The shortest value that is looked for elsewhere: shorter ones stand in too many texts. */
const shortestValue = 4
const mostRemoved = 100

function remember(item: unknown, removed: Set<string>, depth: number): void {
  if (removed.size >= mostRemoved || depth > 8 || item === null || item === undefined) return
  const text = typeof item === 'object' ? ownText(item) : `${item as string | number}`
  if (text === undefined) for (const part of Object.values(item)) remember(part, removed, depth + 1)
  else if (text.length >= shortestValue) removed.add(text)
}

function isPlain(value: Readonly<Record<string, unknown>>): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && typeof value['toJSON'] !== 'function'
}

/** Copies the first `count` members of an object. */
function copyOf(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  count: number,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (let at = 0; at < count; at++) put(copy, keys[at]!, value[keys[at]!])
  return copy
}

/** Sets a member as in JSON: `__proto__` is a key like any other. Functions are left out: a `toJSON` would be called. */
function put(copy: Record<string, unknown>, key: string, value: unknown): void {
  if (typeof value === 'function') return
  if (key === '__proto__') Object.defineProperty(copy, key, { value, enumerable: true })
  else copy[key] = value
}

function ownText(value: object): string | undefined {
  const { toString } = value as { readonly toString?: unknown }
  if (typeof toString !== 'function' || toString === Object.prototype.toString) return undefined
  return String((toString as () => unknown).call(value))
}

function list(items: readonly unknown[], path: string, rules: Rules, depth: number): readonly unknown[] {
  let clean: unknown[] | undefined
  const beside = rules.names === undefined ? -1 : besideName(items, rules)
  for (let at = 0; at < items.length; at++) {
    const item = items[at]
    if (rules.left <= 0) return [...(clean ?? items.slice(0, at)), `${cut}${items.length - at} more`]
    const shown =
      beside >= 0 && at > beside && !(at === beside + 1 && at < items.length - 1 && isOperator(item))
        ? gone(item, rules)
        : walk(item, path, rules, depth + 1)
    if (shown !== item) clean ??= items.slice(0, at)
    clean?.push(shown)
  }
  return clean ?? items
}

/** Returns the place of a name that values of it follow, as in `["salary", ">", 100]`; -1 in a mere list of fields. */
function besideName(items: readonly unknown[], rules: Rules): number {
  const at = items.findIndex((item) => isNamed(item, rules))
  const isFilter = items.length <= 3 ? at === 0 : at === 1 && items.length === 4
  return at >= 0 && (isFilter || items.some((item) => typeof item !== 'string')) ? at : -1
}

function isOperator(item: unknown): boolean {
  return typeof item === 'string' && /^(?:[=!<>~]{1,2}|(?:not )?[a-z]{2,8}(?: with)?)$/.test(item)
}

/** Returns the beginning of a text that fits, without secrets. */
function fitting(text: string, rules: Rules): string {
  const { left } = rules
  let end = text.length
  if (end > longestText)
    for (end = longestText; end > longestText - longestWord && text.charCodeAt(end - 1) > 32;) end--
  const whole = redactText(end < text.length ? text.slice(0, end) : text)
  const clean = rules.names ? withoutLiterals(whole, rules.names) : whole
  rules.left -= clean.length + 3
  if (clean.length <= left && end === text.length) return clean
  const kept = Math.min(clean.length, Math.max(0, left))
  return `${clean.slice(0, kept)}${cut}${clean.length - kept + text.length - end} more`
}

/** True when a key names something that only its owner may read: `access_token`, `apiKey`, `Authorization`. */
export function isSecretKey(key: string): boolean {
  let known = knownKeys.get(key)
  if (known === undefined) {
    known = secretKey.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2'))
    if (knownKeys.size >= mostKnownKeys) knownKeys.clear()
    if (key.length <= 64) knownKeys.set(key, known)
  }
  return known
}

/** A cache, since the same few keys come again and again. */
const knownKeys = new Map<string, boolean>()
const mostKnownKeys = 5000
