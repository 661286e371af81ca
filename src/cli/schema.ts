import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { takes } from '#commands/description.ts'
import { table } from '#commands/terminal.ts'
import { AppError } from '#leaf/errors.ts'
import { didYouMean } from '#leaf/names.ts'
import { defineCommand } from './options.ts'
import { write } from '#commands/terminal.ts'

/** `assistant-core schema`: prints the schemas by which editors check and complete the files of a site. */
export const schemaCommand = defineCommand({
  name: 'schema',
  does: 'print the JSON Schema of one kind of file of a site, or list the kinds',
  examples: ['schema doctype', 'schema --write --site my-site'],
  input: takes({
    kind: '[kind]',
    all: '--write: write all of them into the .schemas folder of the site, where the files of a new site look',
  }),
  run: async ({ kind, all }, { site }) => {
    const { siteSchemas, printedSchema } = await import('../house/site-schemas.ts')
    if (all) return { folder: await writeSchemas(resolve(site)), count: siteSchemas.length }
    const kinds = siteSchemas.map(({ kind, files }) => ({ kind, files }))
    if (kind === undefined) return kinds
    const found = siteSchemas.find((one) => one.kind === kind)
    if (found) return await write(printedSchema(found))
    const meant = didYouMean(
      kind,
      kinds.map((one) => one.kind),
    )
    throw new AppError('not_found', `there is no kind "${kind}"${meant}`)
  },
  text: (done) =>
    'folder' in done! ? `${done.folder}: ${done.count} schemas` : table(done!, ['kind', 'files']),
})

/** Writes every schema into a site, and returns the folder. */
export async function writeSchemas(site: string): Promise<string> {
  const { siteSchemas, printedSchema } = await import('../house/site-schemas.ts')
  const folder = join(site, '.schemas')
  mkdirSync(folder, { recursive: true })
  for (const one of siteSchemas) writeFileSync(join(folder, `${one.kind}.json`), printedSchema(one))
  return folder
}
