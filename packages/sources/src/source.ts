/** How a database of others is reached, as a site says it. */
import { objectWith } from '#leaf/object-schema.ts'
import type { FromSchema } from '#leaf/schema.ts'
import { secretName } from '#leaf/secret-files.ts'

/** The kinds of databases of others; MySQL and MariaDB are told apart by what they say themselves. */
export const sourceTypes = ['postgres', 'mysql', 'mariadb'] as const

const text = { type: 'string', minLength: 1 } as const

/** The schema of one. Passwords are read from files (`password_file`), never from the site. */
export const sourceSchema = objectWith(
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
)

/** One database. */
export type Source = FromSchema<typeof sourceSchema>
