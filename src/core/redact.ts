/** Removes secrets from what is logged or audited: values under secret-like keys at any depth, and token-like texts anywhere. */

const marker = '[redacted]'
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

/** A copy of a JSON-like value without secrets. `paths` names more keys (dotted, from the root) to remove. */
export function redact(value: unknown, paths: readonly string[] = []): unknown {
  return walk(value, '', new Set(paths), 0)
}

/** A text without the tokens in it. */
export function redactText(text: string): string {
  // No secret is shorter than the shortest that the expression finds.
  if (text.length < shortestSecret) return text
  return text.replace(secretValue, (match) => {
    const scheme = /^(Bearer|Basic|token)\s/.exec(match)
    return scheme ? `${scheme[1]} ${marker}` : marker
  })
}

function walk(value: unknown, path: string, paths: ReadonlySet<string>, depth: number): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > 64) return '[too deep]'
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map((item) => walk(item, path, paths, depth + 1))
  const clean: [string, unknown][] = []
  for (const [key, item] of Object.entries(value)) {
    if (clean.length === mostKeys) {
      clean.push(['…', 'more'])
      break
    }
    const here = path === '' ? key : `${path}.${key}`
    const secret = paths.has(here) || isSecretKey(key)
    clean.push([
      key,
      secret && item !== null && item !== undefined ? marker : walk(item, here, paths, depth + 1),
    ])
  }
  return Object.fromEntries(clean)
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
