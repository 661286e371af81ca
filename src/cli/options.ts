import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { commandsWith } from '#commands/description.ts'
import { isOrigin, noOrigin } from '#leaf/address.ts'
import { AppError } from '#leaf/errors.ts'
import { tell } from '#commands/terminal.ts'
import type { Folders } from '#leaf/secret-files.ts'

/** The options of every command: the folders of site, state and secrets, the published URL, and the output format. */
export interface Options extends Folders {
  readonly publicUrl?: string
  readonly json: boolean
}

const packageRoot = resolve(import.meta.dirname, '../..')

/** The options that every command takes, before or after its name. */
export const globalOptions = {
  '--site <folder>': 'the site: config/, prompts/, skills/ (environment: ASSISTANT_CORE_SITE)',
  '--state <folder>':
    'what the program itself learns (environment: ASSISTANT_CORE_STATE; default: var/ in the site)',
  '--public-url <url>': 'the address that clients use (environment: ASSISTANT_CORE_PUBLIC_URL)',
} as const

/** Defines a command of this program. */
export const defineCommand = commandsWith<Options>()

/** Reads the options of a command line: flags, then the environment, then defaults. */
export function readOptions(flags: Partial<Options>, command: string): Options {
  const named = flags.site ?? process.env['ASSISTANT_CORE_SITE']
  const site = resolve(named ?? defaultSite())
  const state = resolve(flags.state ?? process.env['ASSISTANT_CORE_STATE'] ?? join(site, 'var'))
  if (named === undefined && site === packageRoot && state === join(site, 'var')) noteService(command)
  const publicUrl = flags.publicUrl ?? process.env['ASSISTANT_CORE_PUBLIC_URL']
  // As with the setting, whose place it takes.
  if (publicUrl && !isOrigin(publicUrl.replace(/\/$/, '')))
    throw new AppError('invalid', `the public URL "${publicUrl}" ${noOrigin}`, { data: { faults: [] } })
  const credentials = process.env['CREDENTIALS_DIRECTORY']
  return { site, state, credentials, ...(publicUrl && { publicUrl }), json: flags.json ?? false }
}

/** The command that `install --systemd` makes for the installed service. */
const serviceCommand = '/usr/local/sbin/assistant-corectl'

/** Returns the command by which a person calls this program for a site: the installed service has its own. */
export function programFor(site: string): string {
  return site === '/etc/assistant-core' && existsSync(serviceCommand) ? 'assistant-corectl' : 'assistant-core'
}

/** Notes that this is not the service of the machine, which a caller who names no site most likely means. */
function noteService(command: string): void {
  if (existsSync(serviceCommand) && !/^((un)?install|init|manual|completion)$/.test(command))
    tell(`note: this is ${packageRoot}, not the service of this machine; for that use assistant-corectl`)
}

/** Returns the working directory when it is a site, else the site that ships with the package. */
function defaultSite(): string {
  return existsSync(join(process.cwd(), 'config', 'settings.yaml')) ? process.cwd() : packageRoot
}
