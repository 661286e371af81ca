import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

interface Package {
  readonly version: string
}

/** The folder of the package: its `config/` is the shipped site, its `prompts/` and `skills/` are the built-in ones. */
export const packageFolder = resolve(import.meta.dirname, '../..')

/** The release, as `package.json` says it: the one place. */
export const version = (JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as Package)
  .version
