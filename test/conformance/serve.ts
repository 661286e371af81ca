/**
 * The real daemon with the official suite's fixtures beside the site's own tools, prompts and skills:
 * `npm run conformance:serve -- FLAGS` takes the flags of `assistant-core serve`.
 */
import process from 'node:process'
import { Command } from 'commander'
import { globalOptions, readOptions } from '../../src/cli/options.ts'
import { runDaemon } from '../../src/daemon.ts'
import { offerFixtures } from './fixtures.ts'

const program = new Command('conformance:serve')
for (const [flags, does] of Object.entries(globalOptions)) program.option(flags, does)
program
  .option('--host <address>', 'listen on this address instead of the setting server.host')
  .option(
    '--port <number>',
    'listen on this port instead of the setting server.port; 0 takes a free one',
    Number,
  )
  .action(async (flags: { host?: string; port?: number }, command: Command) => {
    const { site, state, publicUrl } = readOptions(command.optsWithGlobals(), 'serve')
    const { host, port } = flags
    await runDaemon(
      {
        site,
        state,
        ...(publicUrl !== undefined && { publicUrl }),
        ...(host !== undefined && { host }),
        ...(port !== undefined && { port }),
      },
      async ({ services }) => {
        offerFixtures(services)
        const made = await services.firstSignIn()
        if (made) process.stderr.write(`sign in as ${made.user} with the password ${made.password}\n`)
      },
    )
  })

await program.parseAsync(process.argv)
