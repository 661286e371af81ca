/** Filling arguments into URLs, and secrets from files into headers and environments. */
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { AppError } from '../../core/errors.ts'

const pattern = /\{([A-Za-z_]\w*)\}/g

/** The names between braces. */
export function placeholders(template: string): string[] {
  return [...template.matchAll(pattern)].map((match) => match[1]!)
}

/**
 * A URL of its template. Values are encoded, so that none can leave its place; the template holds the
 * host. AppError `invalid` for a value that cannot stand in a path.
 */
export function fillUrl(
  template: string,
  query: Readonly<Record<string, string>>,
  args: Readonly<Record<string, unknown>>,
): URL {
  const url = new URL(template.replace(pattern, (_, name: string) => pathPart(name, args[name])))
  for (const [key, value] of Object.entries(query)) {
    // A parameter whose only argument was not given is left out.
    const only = /^\{([A-Za-z_]\w*)\}$/.exec(value)?.[1]
    if (only !== undefined && (args[only] ?? null) === null) continue
    url.searchParams.append(
      key,
      value.replace(pattern, (_, name: string) => textOf(args[name])),
    )
  }
  return url
}

/** Headers or an environment with the contents of the files that `*_file` keys name. */
export async function withSecrets(
  given: Readonly<Record<string, string>>,
  folder: string,
): Promise<Record<string, string>> {
  const filled: Record<string, string> = {}
  for (const [key, value] of Object.entries(given)) {
    if (key.endsWith('_file')) filled[key.slice(0, -'_file'.length)] = await secretFrom(value, folder)
    else filled[key] = value
  }
  return filled
}

/** The content of a secret's file, without the line end that editors leave. */
export async function secretFrom(path: string, folder: string): Promise<string> {
  try {
    return (await readFile(isAbsolute(path) ? path : join(folder, path), 'utf8')).trim()
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
