import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import type { Command } from './command.ts'
import { AppError } from '../core/errors.ts'
import { packageFolder } from '../core/version.ts'
import { commandTree } from './command-tree.ts'
import { manualPage } from './manual.ts'
import { readOptions } from './options.ts'
import { print, tell } from './output.ts'
import { initSite } from './site.ts'

/** One thing to do, as it is printed before it is done. */
interface Step {
  readonly action: 'write' | 'keep' | 'remove' | 'run' | 'skip'
  readonly what: string
  readonly why?: string
  readonly do?: () => void | Promise<unknown>
}

interface Flags {
  readonly systemd?: true
  readonly root?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** What the units and this command agree on. */
const launcherInUnits = '/usr/bin/assistant-core'
const siteInUnits = '/etc/assistant-core'
const defaultsFile = '/etc/default/assistant-core'

const defaults = `# Local choices of the assistant-core service; systemd reads this file.
#ASSISTANT_CORE_PUBLIC_URL=https://assistant.example.com
`

/** `assistant-core install --systemd`, `uninstall --systemd`: into the running system, or into a folder that becomes one. */
export function addInstallCommands(program: Command): void {
  const withFlags = (command: Command): Command =>
    command
      .requiredOption('--systemd', 'as a systemd service')
      .option('--root <folder>', 'into this folder instead of /, for images; runs no program')
      .option('--dry-run', 'only print what would be done')
      .option('-y, --yes', 'do not ask on a terminal')

  withFlags(
    program
      .command('install')
      .description('set this machine up: user, folders, a first site, service, backup timer, manual page')
      .example('install --systemd --dry-run', 'install --systemd'),
  ).action((flags: Flags, command: Command) =>
    // Read before anything is written: a site that is there is an installation that is brought up to date.
    carryOut(
      installSteps(flags, program),
      flags,
      command,
      existsSync(join(flags.root ?? '', siteInUnits)) ? afterUpgrade : afterInstall,
    ),
  )

  withFlags(
    program
      .command('uninstall')
      .description('remove what install wrote; site, state, backups and what you changed stay')
      .example('uninstall --systemd --dry-run'),
  ).action((flags: Flags, command: Command) =>
    carryOut(uninstallSteps(flags, program), flags, command, afterUninstall),
  )
}

const afterInstall = `Now set the public address in ${siteInUnits}/config/settings.yaml or /etc/default/assistant-core, then:
  systemctl enable --now assistant-core.service assistant-core-backup.timer
Every other command works on this service when it is given to assistant-corectl: assistant-corectl status`
const afterUpgrade = `To take this version into use:
  systemctl restart assistant-core.service`
const afterUninstall = `Left as they are: ${siteInUnits}, /var/lib/assistant-core, /var/backups/assistant-core, the user assistant-core.`

async function carryOut(
  steps: readonly Step[],
  flags: Flags,
  command: Command,
  after: string,
): Promise<void> {
  const { json } = readOptions(command)
  const plan = steps.map(({ action, what, why }) => ({ action, what, ...(why !== undefined && { why }) }))
  const dryRun = flags.dryRun ?? false
  print(json, { dry_run: dryRun, steps: plan }, () =>
    plan
      .map(({ action, what, why }) => `${action.padEnd(7)} ${what}${why === undefined ? '' : `   (${why})`}`)
      .join('\n'),
  )
  if (dryRun) return
  if (!flags.root && process.getuid?.() !== 0)
    throw new AppError('forbidden', 'this changes the system; run it as root, or with --root or --dry-run')
  if (!flags.yes && process.stdin.isTTY && !(await agreed()))
    throw new AppError('conflict', 'nothing was done')
  // Whatever umask root has: the service's user must read the site, and systemd the units.
  process.umask(0o022)
  for (const step of steps) await step.do?.()
  tell(after)
}

async function agreed(): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await asking.question('do this? [y/N] ')
  asking.close()
  return /^y(es)?$/i.test(answer.trim())
}

interface OwnFile {
  readonly path: string
  readonly text: string
  readonly mode?: number
}

/** The files that belong to an installation, with their text. */
function ownFiles(program: Command): readonly OwnFile[] {
  const launcher = resolve(process.argv[1] ?? launcherInUnits)
  const part = (name: string): string =>
    readFileSync(join(packageFolder, 'systemd', name), 'utf8').replaceAll(launcherInUnits, launcher)
  const units = [
    'assistant-core.service',
    'assistant-core.socket',
    'assistant-core-backup.service',
    'assistant-core-backup.timer',
  ]
  return [
    ...units.map((name) => ({ path: `/etc/systemd/system/${name}`, text: part(name) })),
    { path: '/etc/sysusers.d/assistant-core.conf', text: part('assistant-core.sysusers') },
    { path: '/etc/tmpfiles.d/assistant-core.conf', text: part('assistant-core.tmpfiles') },
    { path: '/usr/local/sbin/assistant-corectl', text: part('assistant-corectl'), mode: 0o755 },
    { path: '/usr/local/share/man/man1/assistant-core.1', text: manualPage(commandTree(program)) },
  ]
}

function installSteps({ root = '' }: Flags, program: Command): readonly Step[] {
  const at = (path: string): string => join(root, path)
  const home = /^\/(home|root)\//.test(realpathSync(process.argv[1] ?? '/'))
  return [
    ...(home
      ? [
          {
            action: 'skip' as const,
            what: 'note: this program lies in a home folder, which the service may not read',
            why: 'install it with npm install --global first',
          },
        ]
      : []),
    ...ownFiles(program).map(({ path, text, mode }): Step => {
      const found = contentOf(at(path))
      if (found === text) return { action: 'keep', what: at(path), why: 'is up to date' }
      const replaces = found === undefined ? {} : { why: 'replaces another version' }
      return { action: 'write', what: at(path), ...replaces, do: () => put(at(path), text, mode) }
    }),
    once(at(defaultsFile), { do: () => put(at(defaultsFile), defaults) }),
    once(at(siteInUnits), { why: 'a first site', do: () => initSite(at(siteInUnits)) }),
    ...[
      ['systemd-sysusers', 'assistant-core.conf'],
      ['systemd-tmpfiles', '--create', 'assistant-core.conf'],
      ['systemctl', 'daemon-reload'],
    ].map((words) => run(words, root)),
  ]
}

/** What is written once, and the operator's from then on. */
function once(what: string, how: Pick<Step, 'why' | 'do'>): Step {
  return existsSync(what) ? { action: 'keep', what, why: 'is yours' } : { action: 'write', what, ...how }
}

function uninstallSteps({ root = '' }: Flags, program: Command): readonly Step[] {
  const at = (path: string): string => join(root, path)
  return [
    run(
      [
        'systemctl',
        'disable',
        '--now',
        'assistant-core.service',
        'assistant-core.socket',
        'assistant-core-backup.timer',
      ],
      root,
    ),
    ...ownFiles(program).map(({ path, text }): Step => {
      const found = contentOf(at(path))
      if (found === undefined) return { action: 'skip', what: at(path), why: 'is not there' }
      return found === text
        ? { action: 'remove', what: at(path), do: () => rmSync(at(path)) }
        : { action: 'keep', what: at(path), why: 'was changed; remove it yourself' }
    }),
    contentOf(at(defaultsFile)) === defaults
      ? { action: 'remove', what: at(defaultsFile), do: () => rmSync(at(defaultsFile)) }
      : { action: 'keep', what: at(defaultsFile), why: 'is yours' },
    run(['systemctl', 'daemon-reload'], root),
  ]
}

/** A program of systemd; without systemd as the running init there is nothing to tell it. */
function run(words: readonly string[], root: string): Step {
  const what = words.join(' ')
  if (root !== '') return { action: 'skip', what, why: 'not in a folder' }
  if (words[0] === 'systemctl' && !existsSync('/run/systemd/system'))
    return { action: 'skip', what, why: 'systemd does not run here' }
  return {
    action: 'run',
    what,
    do: () => {
      const { status, error } = spawnSync(words[0]!, words.slice(1), { stdio: ['ignore', 2, 2] })
      if (error || status !== 0)
        throw new AppError('unavailable', `${what} failed${error ? `: ${error.message}` : ''}`)
    },
  }
}

function contentOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  chmodSync(path, mode)
}
