/** Removes secrets from what is logged or audited: values under secret-like keys at any depth, and token-like texts anywhere. */

const marker = '[redacted]'
/** Stands where something was cut away. A single character beyond Latin-1 would make a line cost 10 µs more. */
const cut = '...'
/** Nobody reads more of one object in a log, and the audit log would cut them away. */
const mostKeys = 10_000

// Whole words of a key: `access_token`, `apiKey`, `x-api-key` are secret; `input_tokens`, `author`, `token_type` are not.
const secretKey =
  /(^|[_\-.\s])(password|passwd|passphrase|secret|token|credentials?|authorization|cookie|assertion|(?:api|private|access)[_\-\s]?key|code[_\-\s]?verifier|signature)$/i
// None of these may go through a text again from each place where it could begin: callers choose the texts. So a
// JWT is looked for once in each run of its letters, and only where two more parts follow; a key without an end
// goes to the end.
const secretValue =
  /\b(Bearer|Basic|token)\s+[A-Za-z0-9._~+/:-]{8,}=*|\bac_[a-z]{2,4}_[A-Za-z0-9_-]{16,}|(?<![\w-])(?=[\w-]+\.[\w-]+\.)(?:[\w-]*?-)?eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g

const shortestSecret = 14
/** One of these is in every secret that the expression finds; to look for them costs a tenth of it. */
const beginning = /ac_|eyJ|Bearer|Basic|token|-----BEGIN/

/** What else a copy leaves out. */
export interface RedactOptions {
  /** More names whose values are removed, at any depth. */
  readonly names?: ReadonlySet<string>
  /** About how many characters of JSON the copy may have; what is behind them is only counted. */
  readonly most?: number
}

interface Rules {
  readonly paths: ReadonlySet<string>
  readonly names: ReadonlySet<string> | undefined
  left: number
}

/** A JSON-like value without secrets: itself when it has none, or a copy. `paths` names more keys (dotted, from the root) to remove. */
export function redact(
  value: unknown,
  paths: readonly string[] = [],
  { names, most = Infinity }: RedactOptions = {},
): unknown {
  return walk(value, '', { paths: new Set(paths), names, left: most }, 0)
}

/** A text without the tokens in it. */
export function redactText(text: string): string {
  // No secret is shorter than the shortest that the expression finds.
  if (text.length < shortestSecret || !beginning.test(text)) return text
  return text.replace(secretValue, (match) => {
    const scheme = /^(Bearer|Basic|token)\s/.exec(match)
    return scheme ? `${scheme[1]} ${marker}` : marker
  })
}

function walk(value: unknown, path: string, rules: Rules, depth: number): unknown {
  if (typeof value === 'string') return fitting(redactText(value), rules)
  if (typeof value !== 'object' || value === null) {
    rules.left -= 6
    return value
  }
  if (depth > 64) return '[too deep]'
  if (value instanceof Date) return fitting(value.toISOString(), rules)
  if (Array.isArray(value)) return list(value, path, rules, depth)
  // A decimal, a URL and the like have a text of their own.
  const text = ownText(value)
  if (text !== undefined) return fitting(redactText(text), rules)
  return record(value as Readonly<Record<string, unknown>>, path, rules, depth)
}

function record(
  value: Readonly<Record<string, unknown>>,
  path: string,
  rules: Rules,
  depth: number,
): Readonly<Record<string, unknown>> {
  const keys = Object.keys(value)
  // What JSON would ask for another value is not as it looks.
  let clean = isPlain(value) ? undefined : copyOf(value, keys, 0)
  let kept = 0
  for (const key of keys) {
    if (kept === mostKeys || rules.left <= 0) {
      clean ??= copyOf(value, keys, kept)
      clean[cut] = kept === mostKeys ? 'more' : `${keys.length - kept} more`
      break
    }
    rules.left -= key.length + 4
    const here = rules.paths.size === 0 ? '' : path === '' ? key : `${path}.${key}`
    const secret = rules.paths.has(here) || rules.names?.has(key) === true || isSecretKey(key)
    const item = value[key]
    const shown = secret && item !== null && item !== undefined ? marker : walk(item, here, rules, depth + 1)
    if (shown !== item) clean ??= copyOf(value, keys, kept)
    if (clean) put(clean, key, shown)
    kept++
  }
  return clean ?? value
}

function isPlain(value: Readonly<Record<string, unknown>>): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && typeof value['toJSON'] !== 'function'
}

/** The first members of an object. */
function copyOf(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  count: number,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (let at = 0; at < count; at++) put(copy, keys[at]!, value[keys[at]!])
  return copy
}

/** Given as JSON, `__proto__` is a key like any other; a function is none, and one that is called `toJSON` would be asked. */
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
  for (let at = 0; at < items.length; at++) {
    const item = items[at]
    if (rules.left <= 0) return [...(clean ?? items.slice(0, at)), `${cut}${items.length - at} more`]
    const shown = walk(item, path, rules, depth + 1)
    if (shown !== item) clean ??= items.slice(0, at)
    clean?.push(shown)
  }
  return clean ?? items
}

function fitting(text: string, rules: Rules): string {
  const { left } = rules
  rules.left -= text.length + 3
  return text.length > left
    ? `${text.slice(0, Math.max(0, left))}${cut}${text.length - Math.max(0, left)} more`
    : text
}

/** Whether a key names something that nobody but its owner may read: `access_token`, `apiKey`, `Authorization`. */
export function isSecretKey(key: string): boolean {
  let known = knownKeys.get(key)
  if (known === undefined) {
    known = secretKey.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2'))
    if (knownKeys.size >= mostKnownKeys) knownKeys.clear()
    if (key.length <= 64) knownKeys.set(key, known)
  }
  return known
}

/** The same few keys come again and again. */
const knownKeys = new Map<string, boolean>()
const mostKnownKeys = 5000
