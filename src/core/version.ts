import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

interface Package {
  readonly version: string
  readonly homepage: string
}

/** The folder of the package: its `config/` is the shipped site, its `prompts/` and `skills/` are the built-in ones. */
export const packageFolder = resolve(import.meta.dirname, '../..')

/** The release and the address of the project's documentation, read from `package.json` only. */
export const { version, homepage } = JSON.parse(
  readFileSync(join(packageFolder, 'package.json'), 'utf8'),
) as Package
