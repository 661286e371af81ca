import type { listTokens } from '../control/tokens.ts'
import type { Command } from './command.ts'
import { askAndPrint } from './control.ts'
import { countOption, secondsOption } from './durations.ts'
import { table, yesOrNo } from './output.ts'

/** `assistant-core tokens …`: access without a browser, and cutting access off. */
export function addTokensCommands(program: Command): void {
  const tokens = program
    .command('tokens')
    .description('access tokens: issue them without a browser, list them, revoke them')

  tokens
    .command('issue')
    .description('issue an access token and a refresh token to a user, shown once')
    .example(
      'tokens issue --user sales@example.com',
      'tokens issue --user sales@example.com --ttl 12h --json | jq -r .access_token',
    )
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
        // Flags are singular and may be repeated; parameters are lists.
        const { ttl: seconds, scope: scopes, address: addresses, ...rest } = flags
        await askAndPrint(command, 'tokens.issue', { ...rest, seconds, scopes, addresses }, (issued) =>
          [
            `access_token   ${issued.access_token}`,
            `refresh_token  ${issued.refresh_token ?? '-'}`,
            `expires_in     ${issued.expires_in} seconds`,
            `scope          ${issued.scope}`,
          ].join('\n'),
        )
      },
    )

  addListingCommands(tokens)
  addRevokeCommand(tokens)
}

function addRevokeCommand(tokens: Command): void {
  tokens
    .command('revoke')
    .description('end tokens at once, with everything that could be refreshed from them')
    .example('tokens revoke --user sales@example.com')
    .option('--user <user>', 'all of this user')
    .option('--client <id>', 'all of this client')
    .option('--token <token>', 'this one, given as its id or as the token itself')
    .option('--all', 'all there are')
    .action(
      async (flags: { user?: string; client?: string; token?: string; all?: true }, command: Command) => {
        // Ending everything by leaving out a flag would be too easy.
        if (Object.keys(flags).length === 0)
          command.error('error: say which: --user, --client, --token or --all')
        await askAndPrint(command, 'tokens.revoke', flags, (done) => `${done.revoked} revoked`)
      },
    )
}

function addListingCommands(tokens: Command): void {
  tokens
    .command('list')
    .description('list access tokens, without the tokens themselves')
    .example('tokens list --user sales@example.com')
    .option('--user <user>', 'only those of this user')
    .option('--client <id>', 'only those of this client')
    .option('-n <count>', 'how many', countOption, 100)
    .option('--after <token>', 'go on after this one, the last of a list')
    .action(
      ({ n, ...flags }: { user?: string; client?: string; n: number; after?: string }, command: Command) =>
        askAndPrint(command, 'tokens.list', { ...flags, limit: n }, (list) => listText(list, n)),
    )

  tokens
    .command('grants')
    .description('list what users allowed apps; revoke one with its user and client')
    .example('tokens grants --user sales@example.com')
    .option('--user <user>', 'only those of this user')
    .option('--client <id>', 'only those for this client')
    .action((flags: { user?: string; client?: string }, command: Command) =>
      askAndPrint(command, 'grants.list', flags, (list) =>
        table(list, {
          grant: 'grant',
          user: 'user',
          client: 'client_name',
          'sent to': 'redirect_host',
          allowed: 'allowed',
          'only reads': (one) => yesOrNo(one.read_only),
        }),
      ),
    )
}

/** A page of tokens; a full one says how to go on. */
function listText(list: Awaited<ReturnType<typeof listTokens.run>>, limit: number): string {
  const rows = table(list, {
    token: 'token',
    user: 'user',
    client: 'client_name',
    status: 'status',
    expires: 'expires',
    'last used': 'last_used',
    calls: 'calls',
  })
  return list.length < limit ? rows : `${rows}\n\nperhaps more: --after ${list.at(-1)!.token}`
}
