import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { packageFolder } from '../core/version.ts'
import { printedSchema, siteSchemas } from './site-schemas.ts'

/** Writes a new site and returns its files: those of every site, and those of the template. */
export function initSite(site: string, template = 'minimal'): readonly string[] {
  // A new repository may hold `.git` and nothing else.
  if (existsSync(site) && readdirSync(site).some((name) => name !== '.git')) {
    throw new AppError('conflict', `${site} is not empty; a new site needs a folder of its own`)
  }
  const shared = ['config/README.md', 'config/settings.yaml', 'config/clients.yaml']
  // The READMEs on formats go where they are needed.
  for (const path of [
    ...(template === 'trading' ? ['config'] : shared),
    'prompts/README.md',
    'skills/README.md',
  ])
    cpSync(join(packageFolder, path), join(site, path), { recursive: true })
  cpSync(join(packageFolder, 'templates', template), site, { recursive: true })
  writeFileSync(join(site, '.gitignore'), '# What the program itself learns is not part of the site.\nvar/\n')
  writeSchemas(site)
  const files = readdirSync(site, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(site, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('.git/'))
  return files.sort()
}

/** Writes every schema into a site, and returns the folder. */
export function writeSchemas(site: string): string {
  const folder = join(site, '.schemas')
  mkdirSync(folder, { recursive: true })
  for (const one of siteSchemas) writeFileSync(join(folder, `${one.kind}.json`), printedSchema(one))
  return folder
}
