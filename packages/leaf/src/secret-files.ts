/** Files with secrets, named by keys that end in `_file`: where they lie, and the one place that reads them. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from './errors.ts'

/** The default folder of secrets, within the folder of the state. */
export const secretsName = 'secrets'

/** The schema of a secret's name, which is never a path. */
export const secretName = {
  type: 'string',
  pattern: '^[A-Za-z0-9][\\w.-]*$',
  title: 'the name of a file in the folder of secrets',
} as const

/** The folders of a service. */
export interface Folders {
  readonly site: string
  readonly state: string
  /** The folder that systemd calls `$CREDENTIALS_DIRECTORY`. */
  readonly credentials?: string | undefined
}

/** Returns the path of the file for the name of a secret. */
export type SecretPath = (name: string) => string

/** Returns the function that finds a service's secret files by name. */
export function secretsIn(
  { secrets_folder: named }: { readonly secrets_folder: string | null },
  { state, credentials }: Pick<Folders, 'state' | 'credentials'>,
): SecretPath {
  const folder = named ?? credentials ?? join(state, secretsName)
  return (name) => join(folder, name)
}

/** Reads a secret, without the newline that editors leave. AppError `unavailable` tells the key and its path. */
export async function readSecretFile(path: string, key: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    throw new AppError('unavailable', `${key}: ${path} cannot be read (${code})`, { cause })
  }
}

/** Finds every secret named in the data of a file, with its path there. */
export function namedSecrets(
  data: unknown,
  path: readonly string[] = [],
): { readonly path: readonly string[]; readonly name: string }[] {
  return Object.entries(data ?? {}).flatMap(([key, value]: [string, unknown]) => {
    const here = [...path, key]
    if (typeof value === 'object') return notSecret.has(key) ? [] : namedSecrets(value, here)
    return typeof value === 'string' && key.endsWith('_file') ? [{ path: here, name: value }] : []
  })
}

/** The keys whose contents the caller of a tool fills in. */
const notSecret: ReadonlySet<string> = new Set(['input', 'query'])
