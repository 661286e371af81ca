import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { takes } from '#commands/description.ts'
import {
  carryOut,
  onceStep,
  ownStep,
  removalStep,
  systemdStep,
  type OwnFile,
  type Step,
} from '#commands/steps.ts'
import { packageFolder } from '../core/version.ts'
import { defineCommand } from './options.ts'
import { type Template, templateFlag } from './site.ts'

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
  systemd: '--systemd!: as a systemd service',
  root: '--root <folder>: into this folder instead of /, for images; runs no program',
  dryRun: '--dry-run: only print what would be done',
  yes: '-y, --yes: do not ask on a terminal',
} as const

/** `assistant-core install --systemd`, `uninstall --systemd`: for the running system, or a folder that becomes one. */
export const installCommands = [
  defineCommand({
    name: 'install',
    does: 'set this machine up: user, folders, a first site, service, backup timer, manual page',
    examples: ['install --systemd --dry-run', 'install --systemd'],
    input: takes({ template: templateFlag, ...flags }),
    run: ({ template, ...wish }, options, pages) => {
      // This is checked before anything is written: a site means that an installation is upgraded.
      const isUpgrade = existsSync(join(wish.root ?? '', siteInUnits))
      const steps = installSteps(wish.root, template, pages.manual())
      return carryOut(steps, wish, options, isUpgrade ? afterUpgrade : afterInstall)
    },
  }),
  defineCommand({
    name: 'uninstall',
    does: 'remove what install wrote; site, state, backups and what you changed stay',
    examples: ['uninstall --systemd --dry-run'],
    input: takes(flags),
    run: (wish, options, pages) =>
      carryOut(uninstallSteps(wish.root, pages.manual()), wish, options, afterUninstall),
  }),
]

/** Returns the files of an installation; one is the manual page. */
function ownFiles(root: string, page: string): readonly OwnFile[] {
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
    [join(root, '/usr/local/share/man/man1/assistant-core.1'), page],
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

function installSteps(root = '', template: Template | undefined, page: string): readonly Step[] {
  const [ourDefaults, ourSite] = [join(root, defaultsFile), join(root, siteInUnits)]
  const home = 'note: this program lies in a home folder, which the service may not read'
  return [
    ...(/^\/(home|root)\//.test(realpathSync(process.argv[1] ?? '/'))
      ? [{ action: 'skip', what: home, why: 'install it with npm install --global first' } as const]
      : []),
    ...ownFiles(root, page).map(ownStep),
    onceStep(ourDefaults, defaults),
    onceStep(
      ourSite,
      async () => (await import('../house/new-site.ts')).initSite(ourSite, template),
      `a first site: ${template}`,
    ),
    systemdStep('systemd-sysusers assistant-core.conf', root),
    systemdStep('systemd-tmpfiles --create assistant-core.conf', root),
    systemdStep('systemctl daemon-reload', root),
  ]
}

function uninstallSteps(root = '', page: string): readonly Step[] {
  // A release before 2.16 wrote no such unit, and what is not there cannot be disabled.
  const several = existsSync(join(root, severalUnit))
    ? ['stop assistant-core@*.service', 'disable assistant-core@.service']
    : []
  return [
    ...several.map((words) => systemdStep(`systemctl ${words}`, root)),
    systemdStep(
      'systemctl disable --now assistant-core.service assistant-core.socket assistant-core-backup.timer',
      root,
    ),
    ...ownFiles(root, page).map((file): Step =>
      existsSync(file[0])
        ? removalStep(file, 'was changed; remove it yourself')
        : { action: 'skip', what: file[0], why: 'is not there' },
    ),
    removalStep([join(root, defaultsFile), defaults], 'is yours'),
    systemdStep('systemctl daemon-reload', root),
  ]
}
