import { asks, takes } from '#commands/description.ts'
import { columns, table } from '#commands/terminal.ts'
import { pictured } from '#leaf/pictured.ts'
import { sourceTypes } from '#sources/source.ts'
import { defineCommand } from './options.ts'

/** `assistant-core sources …`, `doctypes …`: a database that is there already, and doctypes over its tables. */
export const sourceCommands = [
  defineCommand({
    name: 'sources add',
    does: 'try a database and name it in config/sources.yaml; the login needs to read and nothing else',
    examples: [
      'sources add erp --host db.example.com --database erp --user reader --password-file erp-password',
      'sources add shop --type mariadb --database shop --user reader --password-file shop-password',
    ],
    input: takes({
      name: '<name>',
      type: asks('--type <kind>: what it is; postgres by default', { enum: sourceTypes }),
      host: '--host <host>: where it is; this machine by default',
      port: '--port <number>: 5432 by default, of MySQL and MariaDB 3306',
      database: '--database <database>: its name; the name of the source by default',
      user: '--user <user>: the login; a superuser is refused',
      password_file: '--password-file <secret>: the secret with its password, in the folder of secrets',
      role: '--role <role>: the role to take before every statement',
      ssl: '--ssl: over TLS, to a server whose certificate is checked',
    }),
    run: async ({ name, ...given }, options) => {
      const { addSource } = await import('../house/source-drafts.ts')
      const { type = 'postgres', host = '127.0.0.1', port, database = name, user = 'reader', ...rest } = given
      const source = { type, host, port, database, user, ...rest }
      return { name, ...(await addSource(options, name, source)) }
    },
    text: ({ name, file, tables }) => [
      `${file}: "${name}" was reached, and ${tables} tables and views may be read`,
      `write doctypes over them with: assistant-core doctypes from ${name} --write`,
    ],
  }),
  defineCommand({
    name: 'sources write-keys',
    does: 'print the statements that make the table which the write_keys of a source name, for its owner to run',
    examples: ['sources write-keys erp | psql -h db.example.com -U owner erp'],
    input: takes({ source: '<source>' }),
    run: async ({ source }, options) => {
      const { writeKeysOf } = await import('../house/source-drafts.ts')
      return { statements: await writeKeysOf(options, source) }
    },
    text: ({ statements }) => statements,
  }),
  defineCommand({
    name: 'doctypes from',
    does: 'draft doctypes over the tables of a source; with --write their files are written, or given what they lack',
    examples: ['doctypes from erp', 'doctypes from erp "erp.*" --write'],
    input: takes({
      source: '<source>',
      tables: '[tables...]',
      write:
        '--write: write the files. What stands in one that is there stays, and nobody may read a new one until a rule says so',
    }),
    run: async ({ source, tables = [], write = false }, options) => {
      const { draftFrom } = await import('../house/source-drafts.ts')
      return { written: write, ...(await draftFrom(options, source, tables, write)) }
    },
    text: ({ written, doctypes, left }) => [
      table(doctypes, [...columns('doctype, table, file, state'), ['difference', differenceOf]]),
      ...left.map((one) => `left out: ${pictured(one)}`),
      written
        ? 'nobody may read a new doctype until its file has permissions; assistant-core check tells the rest'
        : 'nothing was written: --write does',
    ],
  }),
] as const

function differenceOf({ added, gone, left }: Readonly<Record<'added' | 'gone' | 'left', readonly string[]>>) {
  const parts = [
    ...added.map((one) => `+ ${one}`),
    ...gone.map((one) => `- ${one} (its column is gone)`),
    ...left.map((one) => `left out: ${one}`),
  ]
  return parts.join('; ')
}
