import process from 'node:process'
import { takes } from '../control/input.ts'
import { operations } from '../control/index.ts'
import { AppError } from '#leaf/errors.ts'
import { defineCommand } from './command.ts'
import { operate } from './control.ts'
import { readSecret } from './options.ts'

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
      password: stdin ? await readSecret('password') : await askTwice(),
    }),
  text: passwd.text,
})

/** Asks for a new password twice, as it is typed blindly. */
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
    // The question goes to standard error, so that the result can be piped.
    process.stderr.write(question)
    const { stdin } = process
    // In raw mode the terminal shows nothing and leaves Ctrl-C and the backspace to us.
    stdin.setRawMode(true).resume().setEncoding('utf8')
    let typed = ''
    // The terminal is restored before anything else happens.
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
