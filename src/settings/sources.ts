/** Reads `config/sources.yaml`: databases of others, for SQL tools and for doctypes whose documents lie there. */
import { compileSchema, type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { secretName } from '#leaf/secret-files.ts'
import { checkDocument } from '#site/checking.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import { sourceTypes } from './source-types.ts'

const text = { type: 'string', minLength: 1 } as const

/** The schema of the file. Passwords are read from files (`password_file`), never from the site. */
export const sourcesSchema = objectWith({
  sources: {
    type: 'object',
    additionalProperties: objectWith(
      { type: { enum: sourceTypes }, host: text, database: text, user: text },
      {
        port: { type: 'integer', minimum: 1, maximum: 65535 },
        password_file: secretName,
        ssl: { type: 'boolean' },
        role: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 63 },
        max_connections: { type: 'integer', minimum: 1, maximum: 100 },
        timeout_seconds: { type: 'integer', minimum: 1, maximum: 600 },
        write_keys: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*\\.[A-Za-z_][A-Za-z0-9_]*$' },
      },
    ),
  },
}) satisfies JSONSchema

/** One database of the file. */
export type Source = FromSchema<typeof sourcesSchema>['sources'][string]

/** The databases by name. */
export type Sources = Readonly<Record<string, Source>>

/** The file that names databases. */
export const sourcesFile = 'config/sources.yaml'
const checkSources = compileSchema(sourcesSchema)

/** Reads the file, if the site has it. */
export function readSources(files: SiteFiles, faults: Fault[]): Sources {
  const document = files.documents.get(sourcesFile)
  const data = document && checkDocument<{ sources: Record<string, Source> }>(document, checkSources, faults)
  return data?.sources ?? {}
}
