import { takes } from '#commands/description.ts'
import { askTwice, readSecret } from '#commands/terminal.ts'
import { operations } from '../control/index.ts'
import { operate } from './control.ts'
import { defineCommand } from './options.ts'

const { 'users.passwd': passwd } = operations

/** `assistant-core users passwd`: never takes the password as an argument, which other users of the machine can read. */
export const passwordCommand = defineCommand({
  name: 'users passwd',
  does: "set a user's password, asked for on a terminal",
  examples: ['users passwd maria@example.com', 'users passwd maria@example.com --password-stdin < phrase'],
  // The option is for scripts and password managers, which have no terminal.
  input: takes({ user: '<user>', stdin: '--password-stdin: read the password from standard input' }),
  run: async ({ user, stdin }, options) =>
    operate(options, 'users.passwd', {
      user,
      password: stdin
        ? await readSecret('password')
        : await askTwice('new password, of at least 12 characters and none that everybody tries: '),
    }),
  text: passwd.text,
})
