import process from 'node:process'
import type { Command } from './command.ts'
import { AppError } from '../core/errors.ts'
import { askAndPrint } from './control.ts'
import { secondsOption } from './durations.ts'
import { readSecret } from './options.ts'
import { table, yesOrNo } from './output.ts'

/** `assistant-core users …`: who may sign in. */
export function addUsersCommands(program: Command): void {
  const users = program
    .command('users')
    .description('users and their passwords; who exists is decided in config/users.yaml')

  users
    .command('list')
    .description('list the users of the site')
    .example('users list --json')
    .action((_flags, command: Command) =>
      askAndPrint(command, 'users.list', {}, (list) =>
        table(list, {
          user: 'user',
          name: 'full_name',
          enabled: (one) => yesOrNo(one.enabled),
          assistant: (one) => yesOrNo(one.assistant_enabled),
          password: (one) => yesOrNo(one.has_password),
          roles: 'roles',
        }),
      ),
    )

  users
    .command('passwd <user>')
    .description("set a user's password, asked for on a terminal")
    .example('users passwd maria@example.com', 'users passwd maria@example.com --password-stdin < phrase')
    // For scripts and password managers, which have no terminal.
    .option('--password-stdin', 'read the password from standard input')
    .action(async (user: string, flags: { passwordStdin?: boolean }, command: Command) => {
      // Never as an argument: other users of the machine can read those.
      const password = flags.passwordStdin ? await readSecret('password') : await askTwice()
      await askAndPrint(command, 'users.passwd', { user, password }, (done) => `password of ${done.user} set`)
    })

  addLinkCommands(users)
}

/** Commands that print a link, by which a person chooses a password of their own. */
function addLinkCommands(users: Command): void {
  const printed = (link: { user: string; url: string; expires: string }): string =>
    `${link.url}\n\nGive this link to ${link.user} by a way that only they read. It works once, until ${link.expires}.`

  users
    .command('invite <user>')
    .description('print a link by which a new user chooses their password')
    .example('users invite maria@example.com', 'users invite maria@example.com --ttl 7d')
    .option('--ttl <duration>', 'when the link ends, such as 7d; 3 days if not given', secondsOption)
    .action((user: string, { ttl: seconds }: { ttl?: number }, command: Command) =>
      askAndPrint(command, 'users.invite', { user, seconds }, printed),
    )

  users
    .command('reset <user>')
    .description('print a link by which a user who forgot their password chooses another')
    .example('users reset maria@example.com', 'users reset maria@example.com --second-factor')
    .option('--ttl <duration>', 'when the link ends, such as 7d; 3 days if not given', secondsOption)
    .option('--second-factor', 'using it also forgets their authenticator app, passkeys and recovery codes')
    .action((user: string, flags: { ttl?: number; secondFactor?: boolean }, command: Command) => {
      const { ttl: seconds, secondFactor: second_factor } = flags
      return askAndPrint(command, 'users.reset', { user, seconds, second_factor }, printed)
    })
}

/** `assistant-core api-keys …`: static credentials for programs that cannot open a browser. */
export function addApiKeysCommands(program: Command): void {
  const keys = program.command('api-keys').description('API keys, for programs without a browser')

  keys
    .command('create')
    .description('make an API key and print it with its secret, once')
    .example('api-keys create --user sales@example.com --label "nightly report" --ttl 90d')
    .requiredOption('--user <user>', 'whom the key acts as')
    .option('--label <text>', 'what it is for')
    .option('--ttl <duration>', 'when it ends, such as 90d or 3600 (seconds)', secondsOption)
    .option('--address <network...>', 'where it may be used from, such as 10.0.0.0/8; repeatable')
    .action(
      async (flags: { user: string; label?: string; ttl?: number; address?: string[] }, command: Command) => {
        const { user, label, ttl: seconds, address: addresses } = flags
        await askAndPrint(
          command,
          'api_keys.create',
          { user, label, seconds, addresses },
          (key) =>
            `api_key     ${key.api_key}\napi_secret  ${key.api_secret}   (shown this once)\nheader      Authorization: ${key.authorization}`,
        )
      },
    )

  keys
    .command('list')
    .description('list API keys, without their secrets')
    .example('api-keys list --user sales@example.com')
    .option('--user <user>', 'only those of this user')
    .action((flags: { user?: string }, command: Command) =>
      askAndPrint(command, 'api_keys.list', flags, (list) =>
        table(list, {
          key: 'api_key',
          user: 'user',
          label: 'label',
          status: 'status',
          created: 'created',
          expires: 'expires',
        }),
      ),
    )

  keys
    .command('revoke <api_key>')
    .description('end an API key at once')
    .example('api-keys revoke KEY')
    .action((apiKey: string, _flags, command: Command) =>
      askAndPrint(command, 'api_keys.revoke', { api_key: apiKey }, (done) => `revoked ${done.revoked}`),
    )
}

/** A password typed blindly is typed twice. */
async function askTwice(): Promise<string> {
  if (!process.stdin.isTTY)
    throw new AppError('invalid', 'standard input is not a terminal; use --password-stdin')
  const first = await askHidden('new password, of at least 12 characters and none that everybody tries: ')
  if (first !== (await askHidden('again: '))) throw new AppError('invalid', 'the two passwords differ')
  return first
}

/** Asks on the terminal without showing what is typed. */
function askHidden(question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // To standard error, so that the result can be piped.
    process.stderr.write(question)
    const { stdin } = process
    // In raw mode the terminal shows nothing and leaves Ctrl-C and the backspace to us.
    stdin.setRawMode(true).resume().setEncoding('utf8')
    let typed = ''
    // The terminal is put back in order before anything else happens.
    const done = (finish: () => void): void => {
      stdin.off('data', onData).setRawMode(false).pause()
      process.stderr.write('\n')
      finish()
    }
    const onData = (text: string): void => {
      for (const character of text) {
        if (character === '\r' || character === '\n') return done(() => resolve(typed))
        if (character === '\u0003') return done(() => reject(new AppError('invalid', 'interrupted')))
        typed = character === '\u007f' ? typed.slice(0, -1) : typed + character
      }
    }
    stdin.on('data', onData)
  })
}
