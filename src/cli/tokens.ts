import type { Command } from 'commander'
import { operate } from './control.ts'
import { secondsOption } from './durations.ts'
import { readOptions } from './options.ts'
import { print, table } from './output.ts'

/** The token response of RFC 6749 §5.1, so that scripts may treat both alike. */
interface Issued {
  readonly access_token: string
  readonly refresh_token?: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly scope: string
}

/** An access token as it is listed: `token` is its id, never the token. */
interface Token {
  readonly token: string
  readonly user: string
  readonly client: string
  readonly client_name: string
  readonly status: string
  readonly issued: string
  readonly expires: string
  readonly last_used: string | null
  readonly calls: number
}

/** `assistant-core tokens …`: access without a browser, and cutting access off. */
export function addTokensCommands(program: Command): void {
  const tokens = program
    .command('tokens')
    .description('access tokens: issue them without a browser, list them, revoke them')

  tokens
    .command('issue')
    .description('issue an access token and a refresh token to a user, shown once')
    // Without a default: a token always acts as somebody, with that user's rights.
    .requiredOption('--user <user>', 'whom the token acts as')
    .option('--client <id>', 'the client that gets it; a client of the command line without it')
    .option(
      '--ttl <duration>',
      'how long the access token lasts, such as 3600 (seconds) or 12h',
      secondsOption,
    )
    .option('--scope <scope...>', 'scopes; repeatable')
    .option('--address <network...>', 'where it may be used from, such as 10.0.0.0/8; repeatable')
    .option('--label <text>', 'what it is for')
    .action(
      async (
        flags: {
          user: string
          client?: string
          ttl?: number
          scope?: string[]
          address?: string[]
          label?: string
        },
        command: Command,
      ) => {
        const options = readOptions(command)
        // Flags are singular and may be repeated; parameters are lists.
        const { ttl: seconds, scope: scopes, address: addresses, ...rest } = flags
        const result = await operate<Issued>(options, 'tokens.issue', { ...rest, seconds, scopes, addresses })
        print(options.json, result, (issued) =>
          [
            `access_token   ${issued.access_token}`,
            `refresh_token  ${issued.refresh_token ?? '-'}`,
            `expires_in     ${issued.expires_in} seconds`,
            `scope          ${issued.scope}`,
          ].join('\n'),
        )
      },
    )

  tokens
    .command('list')
    .description('list access tokens, without the tokens themselves')
    .option('--user <user>', 'only those of this user')
    .option('--client <id>', 'only those of this client')
    .action(async (flags: { user?: string; client?: string }, command: Command) => {
      const options = readOptions(command)
      const result = await operate<Token[]>(options, 'tokens.list', flags)
      print(options.json, result, (list) =>
        table(
          ['token', 'user', 'client', 'status', 'expires', 'last used', 'calls'],
          list.map((token) => [
            token.token,
            token.user,
            token.client_name,
            token.status,
            token.expires,
            token.last_used,
            token.calls,
          ]),
        ),
      )
    })

  tokens
    .command('revoke')
    .description('end tokens at once, with everything that could be refreshed from them')
    .option('--user <user>', 'all of this user')
    .option('--client <id>', 'all of this client')
    .option('--token <token>', 'this one, given as its id or as the token itself')
    .option('--all', 'all there are')
    .action(
      async (flags: { user?: string; client?: string; token?: string; all?: true }, command: Command) => {
        // Ending everything by leaving out a flag would be too easy.
        if (Object.keys(flags).length === 0)
          command.error('error: say which: --user, --client, --token or --all')
        const options = readOptions(command)
        const result = await operate<{ revoked: number; users: string[] }>(options, 'tokens.revoke', flags)
        print(options.json, result, (done) => `${done.revoked} revoked`)
      },
    )
}
