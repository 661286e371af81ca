import process from 'node:process'
import { InvalidArgumentError } from 'commander'
import type { Command } from './command.ts'
import type { Daemon } from '../daemon.ts'
import { programFor, readOptions } from './options.ts'
import { tell } from './output.ts'

/** `assistant-core serve`: the daemon in the foreground. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the daemon in the foreground until SIGTERM; SIGHUP reloads the site')
    .example('serve --site /srv/site --state /var/lib/assistant-core', 'serve --port 0')
    .option('--host <address>', 'listen on this address instead of the setting server.host')
    .option(
      '--port <number>',
      'listen on this port instead of the setting server.port; 0 takes a free one',
      portNumber,
    )
    .action(async (flags: { host?: string; port?: number }, command: Command) => {
      const { site, state, publicUrl } = readOptions(command)
      const { runDaemon } = await import('../daemon.ts')
      await runDaemon({ site, state, publicUrl, ...inheritedSocket(), ...flags }, (daemon) =>
        welcome(daemon, site),
      )
    })
}

/** The socket that a systemd socket unit listens on for us: always descriptor 3 (sd_listen_fds(3)). */
function inheritedSocket(): { listeningFd?: number } {
  const { LISTEN_PID: forPid, LISTEN_FDS: count } = process.env
  return forPid === String(process.pid) && Number(count) >= 1 ? { listeningFd: 3 } : {}
}

/** Tells the person at the terminal what to do now. */
async function welcome({ services }: Daemon, site: string): Promise<void> {
  const url = services.publicUrl()
  const made = await services.firstSignIn()
  const lines = [``, `assistant-core listens at ${url}`]
  if (made)
    lines.push(
      `  sign in as   ${made.user}`,
      `  password     ${made.password}   (shown this once; change it with: ${programFor(site)} users passwd ${made.user} --password-stdin)`,
    )
  lines.push(
    `  MCP endpoint ${services.mcpUrl()}`,
    `  connect      claude mcp add --transport http assistant ${services.mcpUrl()}`,
    `               or add that URL as a connector in Claude, ChatGPT, Cursor or VS Code; the browser opens for sign-in`,
    ``,
  )
  tell(lines.join('\n'))
}

function portNumber(text: string): number {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new InvalidArgumentError('must be a number from 0 to 65535')
  return port
}
