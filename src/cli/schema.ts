import { didYouMean } from '../core/names.ts'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from './command.ts'
import { AppError } from '../core/errors.ts'
import { readOptions } from './options.ts'
import { print, table, write } from './output.ts'

/** `assistant-core schema`: what editors check and complete the files of a site by. */
export function addSchemaCommand(program: Command): void {
  program
    .command('schema [kind]')
    .description('print the JSON Schema of one kind of file of a site, or list the kinds')
    .example('schema doctype', 'schema --write --site my-site')
    .option(
      '--write',
      'write all of them into the .schemas folder of the site, where the files of a new site look',
    )
    .action(async (kind: string | undefined, flags: { write?: boolean }, command: Command) => {
      const options = readOptions(command)
      const { siteSchemas, printedSchema } = await import('../build/site-schemas.ts')
      if (flags.write) {
        const folder = await writeSchemas(resolve(options.site))
        return print(options.json, { folder }, () => `${folder}: ${siteSchemas.length} schemas`)
      }
      if (kind === undefined) {
        const kinds = siteSchemas.map(({ kind, files }) => ({ kind, files }))
        return print(options.json, kinds, () => table(kinds, { kind: 'kind', files: 'files' }))
      }
      const found = siteSchemas.find((one) => one.kind === kind)
      if (!found)
        throw new AppError(
          'not_found',
          `there is no kind "${kind}"${didYouMean(
            kind,
            siteSchemas.map((one) => one.kind),
          )}`,
        )
      await write(printedSchema(found))
    })
}

/** Writes every schema into a site, and tells the folder. */
export async function writeSchemas(site: string): Promise<string> {
  const { siteSchemas, printedSchema } = await import('../build/site-schemas.ts')
  const folder = join(site, '.schemas')
  mkdirSync(folder, { recursive: true })
  for (const one of siteSchemas) writeFileSync(join(folder, `${one.kind}.json`), printedSchema(one))
  return folder
}
