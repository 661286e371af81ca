import process from 'node:process'
import { takes } from '#commands/description.ts'
import { plain, tell } from '#commands/terminal.ts'
import { pictured } from '#leaf/pictured.ts'
import { version } from '../core/version.ts'
import type { Daemon } from '../daemon.ts'
import { defineCommand, programFor } from './options.ts'
import { firstPerson } from './site.ts'

/** `assistant-core serve`: runs the daemon in the foreground. */
export const serveCommand = defineCommand({
  name: 'serve',
  does: 'run the daemon in the foreground until SIGTERM, or until its terminal is closed; without one SIGHUP reloads the site',
  examples: ['serve --site /srv/site --state /var/lib/assistant-core', 'serve --port 0'],
  input: takes({
    host: '--host <address>: listen on this address instead of the setting server.host',
    port: '--port <number>: listen on this port instead of the setting server.port; 0 takes a free one',
  }),
  run: async (flags, { site, state, credentials, publicUrl }) => {
    const onTerminal = process.stdin.isTTY
    outliveLog()
    // The message comes at once, since loading the program and making a first state take seconds.
    if (process.stdout.isTTY)
      tell(`assistant-core ${version} reads ${site} and opens its state in ${state} …`)
    // A loader opens all files of a graph at once: in two steps they are less than the 256 that macOS gives a process.
    await import('../house/snapshot.ts')
    const { runDaemon } = await import('../daemon.ts')
    const { createLog } = await import('#leaf/log.ts')
    const log = process.stdout.isTTY && {
      log: createLog('info', { write: (line) => tell(lineForPeople(line)) }),
    }
    await runDaemon(
      { site, state, credentials, publicUrl, onTerminal, ...log, ...inheritedSocket(), ...flags },
      (daemon) => welcome(daemon, site),
    )
  },
})

/** Ignores errors of where the log goes, a full disk, a reader or terminal that is gone: the service and an orderly end need no log. */
function outliveLog(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.removeAllListeners('error').on('error', () => undefined)
}

/** Formats a line of the log for people: time, level when it matters, message, fields. */
function lineForPeople(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
  const told = Object.entries(fields).map(([name, value]) => ` ${name}=${plain(value)}`)
  return pictured(
    `${String(time).slice(11, 19)} ${level === 'info' ? '' : `${String(level)}: `}${String(msg)}${told.join('')}`,
  )
}

/** Returns the socket that a systemd socket unit listens on for us: always descriptor 3 (sd_listen_fds(3)). */
function inheritedSocket(): { listeningFd?: number } {
  const { LISTEN_PID: forPid, LISTEN_FDS: count } = process.env
  return forPid === String(process.pid) && Number(count) >= 1 ? { listeningFd: 3 } : {}
}

/** Shows the person at the terminal the next steps. */
async function welcome({ services }: Daemon, site: string): Promise<void> {
  const made = await services.firstSignIn()
  const program = programFor(site)
  const lines = [
    ``,
    `assistant-core listens at ${services.publicUrl()}`,
    made && `  sign in as   ${made.user}`,
    made &&
      `  password     ${made.password}   (shown this once; change it with: ${program} users passwd ${made.user} --password-stdin)`,
    services.site.current().people.users.size === 0 && `  ${firstPerson(program)}`,
    `  MCP endpoint ${services.mcpUrl()}`,
    `  connect      claude mcp add --transport http assistant ${services.mcpUrl()}`,
    `               or add that URL as a connector in Claude, ChatGPT, Cursor or VS Code; the browser opens for sign-in`,
    ``,
  ]
  tell(lines.filter((line) => typeof line === 'string').join('\n'))
}
