import type { Command } from 'commander'
import { operate } from './control.ts'
import { readOptions, type Options } from './options.ts'
import { print, table } from './output.ts'

/** The answer of a registration (RFC 7591 §3.2.1); the secret is in it this once. */
interface Registration {
  readonly client_id: string
  readonly client_secret?: string
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  readonly token_endpoint_auth_method: string
}

/** A client as it is listed; `source` says who registered it. */
interface Client extends Registration {
  readonly source: string
  readonly created: string
  readonly last_used: string | null
  readonly users?: readonly string[]
}

/** What was removed, or would be, and why. */
interface Pruned {
  readonly dry_run: boolean
  readonly pruned: readonly {
    readonly client_id: string
    readonly client_name: string
    readonly why: string
  }[]
}

/** `assistant-core clients …`: the OAuth clients that this server knows. */
export function addClientsCommands(program: Command): void {
  const clients = program.command('clients').description('OAuth clients')

  clients
    .command('register')
    .description('register a client by hand and print it, with its secret, once')
    .requiredOption('--name <name>', 'the name that users see')
    // Required, because no default could be right: codes are sent there.
    .requiredOption('--redirect-uri <uri...>', 'where codes may be sent; repeatable')
    .option(
      '--auth-method <method>',
      'none, client_secret_basic, client_secret_post or private_key_jwt',
      'none',
    )
    .option('--jwks-uri <url>', "where the client's public keys are, for private_key_jwt")
    .action(
      async (
        flags: { name: string; redirectUri: string[]; authMethod: string; jwksUri?: string },
        command: Command,
      ) => {
        const params = {
          name: flags.name,
          redirect_uris: flags.redirectUri,
          auth_method: flags.authMethod,
          jwks_uri: flags.jwksUri,
        }
        await show(readOptions(command), 'clients.register', params)
      },
    )

  clients
    .command('list')
    .description('list registered clients')
    .action(async (_flags, command: Command) => {
      const options = readOptions(command)
      const result = await operate<Client[]>(options, 'clients.list', {})
      print(options.json, result, (list) =>
        table(
          ['client', 'name', 'source', 'method', 'created', 'last used'],
          list.map((one) => [
            one.client_id,
            one.client_name,
            one.source,
            one.token_endpoint_auth_method,
            one.created,
            one.last_used,
          ]),
        ),
      )
    })

  clients
    .command('show <client_id>')
    .description('show one client and who uses it')
    .action(async (id: string, _flags, command: Command) =>
      show(readOptions(command), 'clients.show', { client_id: id }),
    )

  clients
    .command('update <client_id>')
    .description('change the name or the redirect URIs of a client')
    .option('--name <name>', 'the name that users see')
    .option('--redirect-uri <uri...>', 'all redirect URIs, in the place of those it has; repeatable')
    .action(async (id: string, flags: { name?: string; redirectUri?: string[] }, command: Command) =>
      show(readOptions(command), 'clients.update', {
        client_id: id,
        name: flags.name,
        redirect_uris: flags.redirectUri,
      }),
    )

  clients
    .command('rotate-secret <client_id>')
    .description('give a confidential client another secret; the old one ends at once')
    .action(async (id: string, _flags, command: Command) =>
      show(readOptions(command), 'clients.rotate_secret', { client_id: id }),
    )

  clients
    // Not asked again: the command line is for scripts too, and a client can be registered anew.
    .command('remove <client_id>')
    .description('remove a client and end all its tokens')
    .action(async (id: string, _flags, command: Command) => {
      const options = readOptions(command)
      const result = await operate<{ removed: string }>(options, 'clients.remove', { client_id: id })
      print(options.json, result, (done) => `removed ${done.removed}`)
    })

  clients
    .command('prune')
    .description('remove clients that registered themselves and that nobody uses')
    // Whoever prunes by a timer wants to know first what goes.
    .option('--dry-run', 'only say which')
    .action(async (flags: { dryRun?: boolean }, command: Command) => {
      const options = readOptions(command)
      const result = await operate<Pruned>(options, 'clients.prune', { dry_run: flags.dryRun })
      print(options.json, result, ({ pruned }) =>
        table(
          ['client', 'name', 'why'],
          pruned.map((one) => [one.client_id, one.client_name, one.why]),
        ),
      )
    })
}

/** Prints one client as it is kept: there are more fields than a table has room for. */
async function show(options: Options, operation: string, params: object): Promise<void> {
  print(options.json, await operate<Client>(options, operation, params), (client) =>
    Object.entries(client)
      .map(
        ([key, value]) =>
          `${key.padEnd(28)}${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
      )
      .join('\n'),
  )
}
