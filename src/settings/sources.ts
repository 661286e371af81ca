/** Reads `config/sources.yaml`: databases of others, for SQL tools and for doctypes whose documents lie there. */
import { fileSchema } from '#leaf/file-schema.ts'
import { type JSONSchema } from '#leaf/schema.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { checkDocument } from '#site/checking.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import { type Source, sourceSchema } from '#sources/source.ts'

/** The schema of the file. */
export const sourcesSchema = objectWith({
  sources: { type: 'object', additionalProperties: sourceSchema },
}) satisfies JSONSchema

/** The databases by name. */
export type Sources = Readonly<Record<string, Source>>

/** The file that names databases. */
export const sourcesFile = 'config/sources.yaml'
const checkSources = fileSchema(sourcesSchema)

/** Reads the file, if the site has it. */
export function readSources(files: SiteFiles, faults: Fault[]): Sources {
  const document = files.documents.get(sourcesFile)
  const data = document && checkDocument<{ sources: Record<string, Source> }>(document, checkSources, faults)
  return data?.sources ?? {}
}
