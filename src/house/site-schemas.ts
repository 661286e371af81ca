/** JSON Schemas of the files of a site, for editors: those that the readers themselves check with. */
import { didYouMean } from '#leaf/names.ts'
import { settingsSchema } from '../core/settings.ts'
import { business, host } from '#leaf/who-decides.ts'
import { doctypeSchema } from '../documents/platform/doctype-schema.ts'
import { clientsSchema } from '../documents/platform/read-client-limits.ts'
import { reportSchema } from '../documents/platform/read-reports.ts'
import { workflowSchema } from '../documents/platform/read-workflows.ts'
import { seedsSchema } from '../documents/platform/seed-schema.ts'
import { categoriesSchema } from '../library/categories.ts'
import { skillSchema } from '../library/skill-files.ts'
import { templateSchema } from '../library/prompts/template-file.ts'
import type { Fault, SiteFiles } from '#site/site-files.ts'
import { sourcesSchema } from '../settings/sources.ts'
import { httpToolSchema, sqlToolSchema, upstreamSchema } from '../tools/own/own-schema.ts'
import { toolsSchema } from '../tools/gate/read-tools.ts'
import { rolesSchema, usersSchema } from '../users/read-people.ts'

type Schema = Readonly<Record<string, unknown>>

/** One kind of file: the files of that kind (`/` at the end: all below), and their schema. */
interface SiteSchema {
  readonly kind: string
  readonly files: string
  /** The schema, which says of every key who decides it (`#leaf/who-decides.ts`). */
  readonly schema: Schema
}

/** Every kind of file; for prompts and skills in markdown, the schema is of the front matter. */
export const siteSchemas: readonly SiteSchema[] = [
  { kind: 'settings', files: 'config/settings.yaml', schema: withoutDefaulted(settingsSchema) },
  { kind: 'users', files: 'config/users.yaml', schema: business(usersSchema) },
  { kind: 'roles', files: 'config/roles.yaml', schema: business(rolesSchema) },
  { kind: 'clients', files: 'config/clients.yaml', schema: business(clientsSchema) },
  { kind: 'tools', files: 'config/tools.yaml', schema: business(toolsSchema) },
  { kind: 'sources', files: 'config/sources.yaml', schema: host(sourcesSchema) },
  { kind: 'doctype', files: 'config/doctypes/', schema: business(doctypeSchema) },
  { kind: 'workflow', files: 'config/workflows/', schema: business(workflowSchema) },
  { kind: 'report', files: 'config/reports/', schema: business(reportSchema) },
  { kind: 'seeds', files: 'config/seeds/', schema: business(seedsSchema) },
  {
    kind: 'tool',
    files: 'config/tools/',
    schema: host({ oneOf: [httpToolSchema, sqlToolSchema, upstreamSchema] }),
  },
  { kind: 'categories', files: 'prompts/categories.yaml', schema: business(categoriesSchema) },
  { kind: 'prompt', files: 'prompts/', schema: business(templateSchema) },
  { kind: 'skill', files: 'skills/', schema: business(skillSchema) },
]

/** Returns the schema of a file of the site; undefined for one that nothing reads. */
export function schemaOf(file: string): Schema | undefined {
  const isOf = ({ files }: SiteSchema): boolean =>
    files.endsWith('/') ? file.startsWith(files) : file === files
  return siteSchemas.find(isOf)?.schema
}

/** Warns of files in `config/` that nothing reads. */
export function warnOfUnread({ documents }: SiteFiles, warnings: Fault[]): void {
  const known = siteSchemas.map(({ files }) => files)
  for (const [file, document] of documents)
    if (/^config\/.*(?<!\.md)$/.test(file) && !schemaOf(file)) {
      const place = file.replace(/(?<=^config\/[^/]*\/).*/s, '')
      warnings.push(document.fault([], `nothing reads this file${didYouMean(place, known)}`))
    }
}

/** Returns the schema of a kind as it is printed. */
export function printedSchema({ kind, files, schema }: SiteSchema): string {
  const about = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: `assistant-core: ${kind}` }
  return `${JSON.stringify({ ...about, description: files, ...schema }, null, 2)}\n`
}

/** Returns the schema without requiring what has a default: the readers fill that in before they check. */
function withoutDefaulted(schema: Schema): Schema {
  const { required, properties, ...rest } = schema as {
    required?: readonly string[]
    properties?: Readonly<Record<string, Schema>>
  }
  if (!properties) return schema
  const demanded = (required ?? []).filter((name) => !Object.hasOwn(properties[name] ?? {}, 'default'))
  const inner = Object.entries(properties).map(([name, value]) => [name, withoutDefaulted(value)])
  return {
    ...rest,
    ...(demanded.length > 0 && { required: demanded }),
    properties: Object.fromEntries(inner),
  }
}
