import type { Command } from './command.ts'
import { askAndPrint } from './control.ts'
import { plain, table } from './output.ts'

/** `assistant-core clients …`: the OAuth clients that this server knows. */
export function addClientsCommands(program: Command): void {
  const clients = program.command('clients').description('OAuth clients')

  clients
    .command('register')
    .description('register a client by hand and print it, with its secret, once')
    .example(
      'clients register --name "Report portal" --redirect-uri https://portal.example.com/callback --auth-method client_secret_basic',
    )
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
      (
        flags: { name: string; redirectUri: string[]; authMethod: string; jwksUri?: string },
        command: Command,
      ) => {
        const { name, redirectUri: redirect_uris, authMethod: auth_method, jwksUri: jwks_uri } = flags
        const described = { name, redirect_uris, auth_method, jwks_uri }
        return askAndPrint(command, 'clients.register', described, clientText)
      },
    )

  clients
    .command('list')
    .description('list registered clients')
    .example('clients list')
    .action((_flags, command: Command) =>
      askAndPrint(command, 'clients.list', {}, (list) =>
        table(list, {
          client: 'client_id',
          name: 'client_name',
          source: 'source',
          method: 'token_endpoint_auth_method',
          created: 'created',
          'last used': 'last_used',
        }),
      ),
    )

  clients
    .command('show <client_id>')
    .description('show one client and who uses it')
    .example('clients show CLIENT_ID')
    .action((id: string, _flags, command: Command) =>
      askAndPrint(command, 'clients.show', { client_id: id }, clientText),
    )

  addChangingCommands(clients)
}

function addChangingCommands(clients: Command): void {
  clients
    .command('update <client_id>')
    .description('change the name or the redirect URIs of a client')
    .example('clients update CLIENT_ID --name "Report portal"')
    .option('--name <name>', 'the name that users see')
    .option('--redirect-uri <uri...>', 'all redirect URIs, in the place of those it has; repeatable')
    .action((id: string, flags: { name?: string; redirectUri?: string[] }, command: Command) => {
      const change = { client_id: id, name: flags.name, redirect_uris: flags.redirectUri }
      return askAndPrint(command, 'clients.update', change, clientText)
    })

  clients
    .command('rotate-secret <client_id>')
    .description('give a confidential client another secret; the old one ends at once')
    .example('clients rotate-secret CLIENT_ID')
    .action((id: string, _flags, command: Command) =>
      askAndPrint(command, 'clients.rotate_secret', { client_id: id }, clientText),
    )

  clients
    // Not asked again: the command line is for scripts too, and a client can be registered anew.
    .command('remove <client_id>')
    .description('remove a client and end all its tokens')
    .example('clients remove CLIENT_ID')
    .action((id: string, _flags, command: Command) =>
      askAndPrint(command, 'clients.remove', { client_id: id }, (done) => `removed ${done.removed}`),
    )

  clients
    .command('prune')
    .description('remove clients that registered themselves and that nobody uses')
    .example('clients prune --dry-run')
    // Whoever prunes by a timer wants to know first what goes.
    .option('--dry-run', 'only say which')
    .action((flags: { dryRun?: boolean }, command: Command) =>
      askAndPrint(command, 'clients.prune', { dry_run: flags.dryRun }, ({ pruned }) =>
        table(pruned, { client: 'client_id', name: 'client_name', why: 'why' }),
      ),
    )
}

/** One client as it is kept: there are more fields than a table has room for. */
function clientText(client: object): string {
  const lines = Object.entries(client).map(([key, value]) => `${key.padEnd(28)}${plain(value)}`)
  return lines.join('\n')
}
