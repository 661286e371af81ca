/** What `config/tools/*.yaml` and `config/sources.yaml` look like: tools of one's own. */
import type { FromSchema, JSONSchema } from '../../core/schema.ts'
import { objectWith } from '../../core/object-schema.ts'

const text = { type: 'string', minLength: 1 } as const
const names = { type: 'array', items: text, uniqueItems: true } as const
const texts = { type: 'object', additionalProperties: { type: 'string' } } as const
const category = { type: 'string', enum: ['read_only', 'write', 'read_write', 'privileged'] } as const
const seconds = { type: 'integer', minimum: 1, maximum: 3600 } as const

/** What every tool of one's own says about itself. */
const about = {
  tool: { type: 'string', pattern: '^[a-zA-Z][a-zA-Z0-9_-]{0,63}$' },
  description: { type: 'string', minLength: 20, maxLength: 1000 },
  input: { type: 'object' },
} as const

/** What it may say besides. */
const aboutAsWell = {
  title: text,
  category,
  roles: names,
  timeout_seconds: seconds,
  idempotent: { type: 'boolean' },
} as const

/**
 * A tool that makes one HTTP request. The host in `url` has no place for arguments: no caller chooses
 * whom the server talks to.
 */
export const httpToolSchema = objectWith(
  { ...about, type: { const: 'http' }, url: { type: 'string', pattern: '^https?://[^/{}?#@]+(/|$)' } },
  {
    ...aboutAsWell,
    method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
    query: texts,
    headers: texts,
    body: { type: 'string', enum: ['json', 'none'] },
    response: objectWith({}, { path: text, max_bytes: { type: 'integer', minimum: 1, maximum: 50000000 } }),
    allow_private: { type: 'boolean' },
  },
) satisfies JSONSchema

/** A tool that runs one statement on a source. */
export const sqlToolSchema = objectWith(
  { ...about, type: { const: 'sql' }, source: text, sql: text },
  { ...aboutAsWell, max_rows: { type: 'integer', minimum: 1, maximum: 100000 } },
) satisfies JSONSchema

/**
 * Another MCP server whose tools are offered here: by `url` over HTTP, or by `command` as a child
 * process.
 */
export const upstreamSchema = objectWith(
  { upstream: text, type: { const: 'mcp' } },
  {
    prefix: { type: 'string', pattern: '^[a-zA-Z][a-zA-Z0-9]{0,30}_$' },
    url: { type: 'string', pattern: '^https?://[^/{}?#@]+' },
    headers: texts,
    allow_private: { type: 'boolean' },
    command: { type: 'array', items: text, minItems: 1 },
    env: texts,
    roles: names,
    category,
    timeout_seconds: seconds,
    tools: {
      type: 'object',
      additionalProperties: objectWith({}, { roles: names, category, enabled: { type: 'boolean' } }),
    },
  },
) satisfies JSONSchema

/**
 * `config/sources.yaml`: databases for SQL tools. Passwords stand in files (`password_file`), never in
 * the site.
 */
export const sourcesSchema = objectWith({
  sources: {
    type: 'object',
    additionalProperties: objectWith(
      { type: { const: 'postgres' }, host: text, database: text, user: text },
      {
        port: { type: 'integer', minimum: 1, maximum: 65535 },
        password_file: text,
        ssl: { type: 'boolean' },
        role: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,62}$' },
        max_connections: { type: 'integer', minimum: 1, maximum: 100 },
      },
    ),
  },
}) satisfies JSONSchema

/** A file of `config/tools/` with `type: http`, checked. */
export type HttpDefinition = FromSchema<typeof httpToolSchema>
/** The same with `type: sql`. */
export type SqlDefinition = FromSchema<typeof sqlToolSchema>
/** The same with `type: mcp`. */
export type UpstreamDefinition = FromSchema<typeof upstreamSchema>
/** One database of `config/sources.yaml`. */
export type Source = FromSchema<typeof sourcesSchema>['sources'][string]
