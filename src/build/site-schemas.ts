/** JSON Schemas of the files of a site, for editors: what the readers themselves check with. */
import { settingsSchema } from '../core/settings.ts'
import { doctypeSchema } from '../documents/doctype-schema.ts'
import { clientsSchema } from '../documents/read-client-limits.ts'
import { reportSchema } from '../documents/read-reports.ts'
import { workflowSchema } from '../documents/read-workflows.ts'
import { seedsSchema } from '../documents/seed-schema.ts'
import { categoriesSchema } from '../library/categories.ts'
import { skillSchema } from '../library/skill-files.ts'
import { templateSchema } from '../library/template-file.ts'
import { httpToolSchema, sourcesSchema, sqlToolSchema, upstreamSchema } from '../tools/own/own-schema.ts'
import { toolsSchema } from '../tools/read-tools.ts'
import { rolesSchema, usersSchema } from '../users/read-people.ts'

type Schema = Readonly<Record<string, unknown>>

/** One kind of file: which files are of it (`/` at the end: all below), and what they must look like. */
interface SiteSchema {
  readonly kind: string
  readonly files: string
  readonly schema: Schema
}

/** Every kind of file; of prompts and skills in markdown it is the front matter. */
export const siteSchemas: readonly SiteSchema[] = [
  { kind: 'settings', files: 'config/settings.yaml', schema: withoutDefaulted(settingsSchema) },
  { kind: 'users', files: 'config/users.yaml', schema: usersSchema },
  { kind: 'roles', files: 'config/roles.yaml', schema: rolesSchema },
  { kind: 'clients', files: 'config/clients.yaml', schema: clientsSchema },
  { kind: 'tools', files: 'config/tools.yaml', schema: toolsSchema },
  { kind: 'sources', files: 'config/sources.yaml', schema: sourcesSchema },
  { kind: 'doctype', files: 'config/doctypes/', schema: doctypeSchema },
  { kind: 'workflow', files: 'config/workflows/', schema: workflowSchema },
  { kind: 'report', files: 'config/reports/', schema: reportSchema },
  { kind: 'seeds', files: 'config/seeds/', schema: seedsSchema },
  {
    kind: 'tool',
    files: 'config/tools/',
    schema: { oneOf: [httpToolSchema, sqlToolSchema, upstreamSchema] },
  },
  { kind: 'categories', files: 'prompts/categories.yaml', schema: categoriesSchema },
  { kind: 'prompt', files: 'prompts/', schema: templateSchema },
  { kind: 'skill', files: 'skills/', schema: skillSchema },
]

/** The schema of a kind as it is printed. */
export function printedSchema({ kind, files, schema }: SiteSchema): string {
  const about = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: `assistant-core: ${kind}` }
  return `${JSON.stringify({ ...about, description: files, ...schema }, null, 2)}\n`
}

/** The schema without demanding what has a default: the readers fill that in before they check. */
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
