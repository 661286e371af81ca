/** Fills arguments into URLs, and secrets from files into headers and environments. */
import { jsonOr } from '#leaf/as-json.ts'
import { AppError } from '#leaf/errors.ts'
import { readSecretFile, type SecretPath } from '#leaf/secret-files.ts'
import type { SourceDocument } from '#site/site-files.ts'
import { SiteFault, wholeMessage } from '#site/checking.ts'

const pattern = /\{([A-Za-z_]\w*)\}/g

/** Returns the names between braces. */
export function placeholders(template: string): string[] {
  return [...template.matchAll(pattern)].map((match) => match[1]!)
}

/** Returns a template without its placeholders. */
export function withoutPlaceholders(template: string): string {
  return template.replace(pattern, '')
}

/**
 * Fills in the template of a URL. Values are encoded for their place, so that none can leave it; the template fixes
 * the host. AppError `invalid` for a value that cannot stand there.
 */
export function fillUrl(
  template: string,
  query: Readonly<Record<string, string>>,
  args: Readonly<Record<string, unknown>>,
): URL {
  const [, address = '', search = ''] = /^([^?]*)\??(.*)$/s.exec(template)!
  const isFilled = placeholders(search).length > 0
  const url = new URL(
    (isFilled ? address : template).replace(pattern, (_, name: string) => pathPart(name, args[name])),
  )
  const inSearch = isFilled ? [...new URLSearchParams(search)] : []
  for (const [key, value] of [...inSearch, ...Object.entries(query)]) {
    // A parameter whose only argument was not given is left out.
    const only = /^\{([A-Za-z_]\w*)\}$/.exec(value)?.[1]
    if (only !== undefined && (args[only] ?? null) === null) continue
    url.searchParams.append(filled(key, args), filled(value, args))
  }
  return url
}

/** Fills in a template of text. A value between quotes cannot leave them, and without quotes in JSON it is written as JSON. */
function filled(template: string, args: Readonly<Record<string, unknown>>): string {
  const isJson = typeof jsonOr(template.replace(pattern, '0'), 0) !== 'number'
  const quoted = isJson ? /"(?:[^"\\]|\\.)*"/ : /"[^"]*"|'[^']*'/
  return template.replace(
    new RegExp(`${quoted.source}|${pattern.source}`, 'g'),
    (part, name: string | undefined) => {
      if (name !== undefined) return isJson ? JSON.stringify(args[name] ?? null) : textOf(args[name])
      if (isJson) return JSON.stringify(filled(JSON.parse(part) as string, args))
      return part.replace(pattern, (_, name: string) => unquoted(name, textOf(args[name]), part[0]!))
    },
  )
}

/** Refuses quotes within quotes: filter languages differ in how they write them. */
function unquoted(name: string, text: string, quote: string): string {
  if (text.includes(quote) || text.includes('\\'))
    throw new AppError('invalid', `${name}: neither ${quote} nor \\ can stand between quotes there`)
  return text
}

/** Returns headers or an environment with the secrets that `*_file` keys name. */
export async function withSecrets(
  given: Readonly<Record<string, string>>,
  secretPath: SecretPath,
): Promise<Record<string, string>> {
  const filled: Record<string, string> = {}
  for (const [key, value] of Object.entries(given)) {
    if (key.endsWith('_file')) filled[key.slice(0, -'_file'.length)] = await secretFrom(value, secretPath)
    else filled[key] = value
  }
  return filled
}

/** Reads every secret that a map of the document names. SiteFault at the name of the first that cannot be read. */
export async function requireSecrets(
  document: SourceDocument,
  key: 'headers' | 'env',
  given: Readonly<Record<string, string>> | undefined,
  secretPath: SecretPath,
): Promise<void> {
  for (const [name, value] of Object.entries(given ?? {}))
    await withSecrets({ [name]: value }, secretPath).catch((error: unknown) => {
      throw new SiteFault(document.fault([key, name], wholeMessage(error)), { cause: error })
    })
}

/** Reads a secret by its name. AppError `unavailable`, which does not tell its place. */
export async function secretFrom(name: string, secretPath: SecretPath): Promise<string> {
  try {
    return await readSecretFile(secretPath(name), 'a tool')
  } catch (cause) {
    throw new AppError('unavailable', 'a secret of this tool cannot be read; the operator must look', {
      cause,
    })
  }
}

function pathPart(name: string, value: unknown): string {
  const text = textOf(value)
  // URL parsing would resolve these, encoded or not, and leave the folder.
  if (text === '' || /^\.{1,2}$/.test(text))
    throw new AppError('invalid', `${name}: "${text}" cannot stand in this address`)
  return encodeURIComponent(text)
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
