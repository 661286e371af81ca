/** The schemas of `config/tools/*.yaml`: the site's own tools. */
import type { FromSchema, JSONSchema } from '#leaf/schema.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { references } from '#leaf/references.ts'
import { secretName } from '#leaf/secret-files.ts'
import { business } from '#leaf/who-decides.ts'

const text = { type: 'string', minLength: 1 } as const
const roles = business({ type: 'array', items: references('role', text), uniqueItems: true })
const texts = { type: 'object', additionalProperties: { type: 'string' } } as const
/** The same, where a key that ends in `_file` names a secret. */
const filled = { ...texts, patternProperties: { _file$: secretName } } as const
const category = business({ type: 'string', enum: ['read_only', 'write', 'read_write', 'privileged'] })
const header = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9-]*$', maxLength: 64 } as const
const seconds = { type: 'integer', minimum: 1, maximum: 3600 } as const

/** The required description of every tool of the site. */
const about = {
  tool: { type: 'string', pattern: '^[a-zA-Z][a-zA-Z0-9_-]*$', maxLength: 64 },
  description: business({ type: 'string', minLength: 20, maxLength: 1000 }),
  input: { type: 'object' },
} as const

/** Its optional description. */
const aboutAsWell = {
  title: business(text),
  category,
  roles,
  timeout_seconds: seconds,
  idempotent: { type: 'boolean' },
} as const

/**
 * A tool that makes one HTTP request. The host in `url` has no place for arguments: no caller chooses
 * the host that the server talks to.
 */
export const httpToolSchema = objectWith(
  { ...about, type: { const: 'http' }, url: { type: 'string', pattern: '^https?://[^/{}?#@]+(/|$)' } },
  {
    ...aboutAsWell,
    method: { type: 'string', enum: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] },
    query: texts,
    headers: filled,
    assertion: objectWith({ header }, { audience: text }),
    body: { type: 'string', enum: ['json', 'none'] },
    response: objectWith(
      {},
      {
        path: text,
        max_bytes: { type: 'integer', minimum: 1, maximum: 50000000 },
        total: text,
        next: text,
        max_pages: { type: 'integer', minimum: 2, maximum: 100 },
      },
    ),
    allow_private: { type: 'boolean' },
  },
) satisfies JSONSchema

/** A tool that runs one statement on a source. */
export const sqlToolSchema = objectWith(
  { ...about, type: { const: 'sql' }, source: references('source', text), sql: text },
  {
    ...aboutAsWell,
    max_rows: { type: 'integer', minimum: 1, maximum: 100000 },
    page: { type: 'string', enum: ['offset'] },
    cursor: { type: 'array', items: text, uniqueItems: true, minItems: 1, maxItems: 5 },
  },
) satisfies JSONSchema

/**
 * Another MCP server whose tools are offered here: by `url` over HTTP, or by `command` as a child
 * process.
 */
export const upstreamSchema = objectWith(
  { upstream: text, type: { const: 'mcp' } },
  {
    prefix: { type: 'string', pattern: '^[a-zA-Z][a-zA-Z0-9]*_$', maxLength: 32 },
    url: { type: 'string', pattern: '^https?://[^/{}?#@]+' },
    headers: filled,
    assertion: objectWith({}, { header, meta: text, audience: text }),
    allow_private: { type: 'boolean' },
    command: { type: 'array', items: text, minItems: 1 },
    env: filled,
    roles,
    category,
    timeout_seconds: seconds,
    tools: {
      type: 'object',
      additionalProperties: objectWith({}, { roles, category, enabled: { type: 'boolean' } }),
    },
  },
) satisfies JSONSchema

/** A checked file of `config/tools/` with `type: http`. */
export type HttpDefinition = FromSchema<typeof httpToolSchema>
/** A checked file with `type: sql`. */
export type SqlDefinition = FromSchema<typeof sqlToolSchema>
/** A checked file with `type: mcp`. */
export type UpstreamDefinition = FromSchema<typeof upstreamSchema>
