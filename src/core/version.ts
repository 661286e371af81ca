import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Package {
  readonly version: string
}

/** The release, as `package.json` says it: the one place. */
export const version = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as Package
).version
