import process from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { InvalidArgumentError } from 'commander'
import type { Command } from './command.ts'
import { version } from '../core/version.ts'
import type { Daemon } from '../daemon.ts'
import { programFor, readOptions } from './options.ts'
import { plain, tell, visible } from './output.ts'

/** `assistant-core serve`: the daemon in the foreground. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description(
      'run the daemon in the foreground until SIGTERM, or until its terminal is closed; without one SIGHUP reloads the site',
    )
    .example('serve --site /srv/site --state /var/lib/assistant-core', 'serve --port 0')
    .option('--host <address>', 'listen on this address instead of the setting server.host')
    .option(
      '--port <number>',
      'listen on this port instead of the setting server.port; 0 takes a free one',
      portNumber,
    )
    .action(async (flags: { host?: string; port?: number }, command: Command) => {
      const { site, state, publicUrl } = readOptions(command)
      const onTerminal = process.stdin.isTTY
      if (onTerminal) outliveTerminal()
      // At once: loading the program and making a first state take seconds.
      if (process.stdout.isTTY)
        tell(`assistant-core ${version} reads ${site} and opens its state in ${state} …`)
      const [{ runDaemon }, { createLog }] = await Promise.all([
        import('../daemon.ts'),
        import('../core/log.ts'),
      ])
      const log = process.stdout.isTTY && {
        log: createLog('info', { write: (line) => tell(lineForPeople(line)) }),
      }
      await runDaemon(
        { site, state, publicUrl, onTerminal, ...log, ...inheritedSocket(), ...flags },
        (daemon) => {
          // From here on the same is done again and again: V8's own measure for what it makes fast, not that of `bin/`.
          setFlagsFromString('--interrupt-budget=67584')
          return welcome(daemon, site)
        },
      )
    })
}

/** A terminal that is closed takes no more text; that must not stand in the way of an orderly end. */
function outliveTerminal(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners('error').on('error', () => undefined)
}

/** A line of the log as a person reads it: time, level when it matters, message, fields. */
function lineForPeople(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
  const told = Object.entries(fields).map(([name, value]) => ` ${name}=${plain(value)}`)
  return visible(
    `${String(time).slice(11, 19)} ${level === 'info' ? '' : `${String(level)}: `}${String(msg)}${told.join('')}`,
  )
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
