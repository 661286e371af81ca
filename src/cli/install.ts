import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { takes } from '../control/input.ts'
import { AppError } from '#leaf/errors.ts'
import { packageFolder } from '../core/version.ts'
import { defineCommand, type Command } from './command.ts'
import { manualPage } from './manual.ts'
import type { Options } from './options.ts'
import { print, tell } from './output.ts'
import { initSite, type Template, templateFlag } from './site.ts'

/** One step, printed before it is carried out. */
interface Step {
  readonly action: 'write' | 'keep' | 'remove' | 'run' | 'skip'
  readonly what: string
  readonly why?: string
  readonly do?: () => void | Promise<unknown>
}

/** Paths on which the units and this command agree. */
const launcherInUnits = '/usr/bin/assistant-core'
const siteInUnits = '/etc/assistant-core'
const severalUnit = '/etc/systemd/system/assistant-core@.service'
const defaultsFile = '/etc/default/assistant-core'

const defaults = `# Local choices of the assistant-core service; systemd reads this file.
#ASSISTANT_CORE_PUBLIC_URL=https://assistant.example.com
`

const afterInstall = `Now set the public address in ${siteInUnits}/config/settings.yaml or /etc/default/assistant-core, then:
  systemctl enable --now assistant-core.service assistant-core-backup.timer
Every other command works on this service when it is given to assistant-corectl: assistant-corectl status`
const afterUpgrade = `To take this version into use:
  systemctl restart assistant-core.service 'assistant-core@*'`
const afterUninstall = `Left as they are: ${siteInUnits}, /var/lib/assistant-core*, /var/backups/assistant-core, the user assistant-core.`

const flags = {
  systemd: '--systemd: as a systemd service',
  root: '--root <folder>: into this folder instead of /, for images; runs no program',
  dryRun: '--dry-run: only print what would be done',
  yes: '-y, --yes: do not ask on a terminal',
} as const

/** The options of both commands. */
interface Wish {
  readonly root?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** `assistant-core install --systemd`, `uninstall --systemd`: for the running system, or a folder that becomes one. */
export const installCommands = [
  defineCommand({
    name: 'install',
    does: 'set this machine up: user, folders, a first site, service, backup timer, manual page',
    examples: ['install --systemd --dry-run', 'install --systemd'],
    input: takes({ template: templateFlag, ...flags }, 'systemd'),
    run: ({ template, ...wish }, options, command) => {
      // This is checked before anything is written: a site means that an installation is upgraded.
      const isUpgrade = existsSync(join(wish.root ?? '', siteInUnits))
      const steps = installSteps(wish.root, template, command)
      return carryOut(steps, wish, options, isUpgrade ? afterUpgrade : afterInstall)
    },
  }),
  defineCommand({
    name: 'uninstall',
    does: 'remove what install wrote; site, state, backups and what you changed stay',
    examples: ['uninstall --systemd --dry-run'],
    input: takes(flags, 'systemd'),
    run: (wish, options, command) =>
      carryOut(uninstallSteps(wish.root, command), wish, options, afterUninstall),
  }),
]

async function carryOut(
  steps: readonly Step[],
  { root, dryRun = false, yes }: Wish,
  { json }: Options,
  after: string,
): Promise<void> {
  print(json, { dry_run: dryRun, steps: steps.map(({ do: _do, ...step }) => step) }, () =>
    steps.map(({ action, what, why }) => `${action.padEnd(7)} ${what}${why ? `   (${why})` : ''}`).join('\n'),
  )
  if (dryRun) return
  if (!root && process.getuid?.() !== 0)
    throw new AppError('forbidden', 'this changes the system; run it as root, or with --root or --dry-run')
  if (!yes && process.stdin.isTTY && !(await agreed())) throw new AppError('conflict', 'nothing was done')
  // The umask is set, whatever root's is: the service's user must read the site, and systemd the units.
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

/** Returns the files of an installation: path, text and mode. */
function ownFiles(root: string, command: Command): readonly (readonly [string, string, number?])[] {
  const launcher = resolve(process.argv[1] ?? launcherInUnits)
  const part = (name: string): string =>
    readFileSync(join(packageFolder, 'systemd', name), 'utf8').replaceAll(launcherInUnits, launcher)
  const units = ['.service', '.socket', '-backup.service', '-backup.timer'].map(
    (end) => `assistant-core${end}`,
  )
  return [
    ...units.map((name) => [join(root, '/etc/systemd/system', name), part(name)] as const),
    [join(root, severalUnit), oneOfSeveral(part('assistant-core.service'))],
    [join(root, '/etc/sysusers.d/assistant-core.conf'), part('assistant-core.sysusers')],
    [join(root, '/etc/tmpfiles.d/assistant-core.conf'), part('assistant-core.tmpfiles')],
    [join(root, '/usr/local/sbin/assistant-corectl'), part('assistant-corectl'), 0o755],
    [join(root, '/usr/local/share/man/man1/assistant-core.1'), manualPage(command.program)],
  ]
}

/** Makes the unit of one of several daemons of that of the only one: the instance is its port, and names its state. */
function oneOfSeveral(unit: string): string {
  return unit
    .replace(
      '# assistant-core as a systemd service.',
      '# One of several: systemctl enable --now assistant-core@8788',
    )
    .replace('Description=assistant-core:', 'Description=assistant-core on port %i:')
    .replaceAll(/^(StateDirectory=|Environment=ASSISTANT_CORE_STATE=\/var\/lib\/)assistant-core$/gm, '$&-%i')
    .replace(/^ExecStart=.* serve$/m, '$& --port %i')
}

function installSteps(root = '', template: Template | undefined, command: Command): readonly Step[] {
  const files = ownFiles(root, command).map(([what, text, mode]): Step => {
    const found = contentOf(what)
    if (found === text) return { action: 'keep', what, why: 'is up to date' }
    const replaces = found !== undefined && { why: 'replaces another version' }
    return { action: 'write', what, ...replaces, do: () => put(what, text, mode) }
  })
  const [ourDefaults, ourSite] = [join(root, defaultsFile), join(root, siteInUnits)]
  const home = 'note: this program lies in a home folder, which the service may not read'
  return [
    ...(/^\/(home|root)\//.test(realpathSync(process.argv[1] ?? '/'))
      ? [{ action: 'skip', what: home, why: 'install it with npm install --global first' } as const]
      : []),
    ...files,
    once(ourDefaults, { do: () => put(ourDefaults, defaults) }),
    once(ourSite, { why: `a first site: ${template}`, do: () => initSite(ourSite, template) }),
    run('systemd-sysusers assistant-core.conf', root),
    run('systemd-tmpfiles --create assistant-core.conf', root),
    run('systemctl daemon-reload', root),
  ]
}

/** Makes the step of a file that is written once, and belongs to the operator from then on. */
function once(what: string, how: Pick<Step, 'why' | 'do'>): Step {
  return existsSync(what) ? { action: 'keep', what, why: 'is yours' } : { action: 'write', what, ...how }
}

function uninstallSteps(root = '', command: Command): readonly Step[] {
  const removal = (what: string, text: string, kept: string): Step =>
    contentOf(what) === text
      ? { action: 'remove', what, do: () => rmSync(what) }
      : { action: 'keep', what, why: kept }
  // A release before 2.16 wrote no such unit, and what is not there cannot be disabled.
  const several = existsSync(join(root, severalUnit))
    ? ['stop assistant-core@*.service', 'disable assistant-core@.service']
    : []
  return [
    ...several.map((words) => run(`systemctl ${words}`, root)),
    run(
      'systemctl disable --now assistant-core.service assistant-core.socket assistant-core-backup.timer',
      root,
    ),
    ...ownFiles(root, command).map(([what, text]): Step =>
      existsSync(what)
        ? removal(what, text, 'was changed; remove it yourself')
        : { action: 'skip', what, why: 'is not there' },
    ),
    removal(join(root, defaultsFile), defaults, 'is yours'),
    run('systemctl daemon-reload', root),
  ]
}

/** Makes the step of a program of systemd; skipped for a folder, or when systemd is not the running init. */
function run(what: string, root: string): Step {
  if (root !== '') return { action: 'skip', what, why: 'not in a folder' }
  const [program = '', ...words] = what.split(' ')
  if (program === 'systemctl' && !existsSync('/run/systemd/system'))
    return { action: 'skip', what, why: 'systemd does not run here' }
  return {
    action: 'run',
    what,
    do: () => {
      const { status, error } = spawnSync(program, words, { stdio: ['ignore', 2, 2] })
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
