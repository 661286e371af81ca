import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '#leaf/errors.ts'
import type { Folders } from '#leaf/secret-files.ts'
import { tell } from './output.ts'

/** The options of every command: the folders of site, state and secrets, the published URL, and the output format. */
export interface Options extends Folders {
  readonly publicUrl?: string
  readonly json: boolean
}

const packageRoot = resolve(import.meta.dirname, '../..')

const stateDefault = 'environment: ASSISTANT_CORE_STATE; default: var/ in the site'

/** Adds the options that every command takes, before or after its name. */
export function addGlobalOptions(program: Command): void {
  program
    .option('--site <folder>', 'the site: config/, prompts/, skills/ (environment: ASSISTANT_CORE_SITE)')
    .option('--state <folder>', `what the program itself learns (${stateDefault})`)
    .option('--public-url <url>', 'the address that clients use (environment: ASSISTANT_CORE_PUBLIC_URL)')
    .option('--json', 'print results as JSON')
}

/** Reads the options of a command line: flags, then the environment, then defaults. */
export function readOptions(command: Command): Options {
  const flags = command.optsWithGlobals<Partial<Options>>()
  const named = flags.site ?? process.env['ASSISTANT_CORE_SITE']
  const site = resolve(named ?? defaultSite())
  const state = resolve(flags.state ?? process.env['ASSISTANT_CORE_STATE'] ?? join(site, 'var'))
  if (named === undefined && site === packageRoot && state === join(site, 'var')) noteService(command)
  const publicUrl = flags.publicUrl ?? process.env['ASSISTANT_CORE_PUBLIC_URL']
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
function noteService(command: Command): void {
  if (existsSync(serviceCommand) && !/^((un)?install|init|manual|completion)$/.test(command.name()))
    tell(`note: this is ${packageRoot}, not the service of this machine; for that use assistant-corectl`)
}

/** Returns the working directory when it is a site, else the site that ships with the package. */
function defaultSite(): string {
  return existsSync(join(process.cwd(), 'config', 'settings.yaml')) ? process.cwd() : packageRoot
}

/** Reads a secret from the first line of standard input: other users of the machine could read it as an argument. */
export async function readSecret(what: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  const line = Buffer.concat(chunks).toString('utf8').split(/\r?\n/)[0] ?? ''
  if (line === '') throw new AppError('invalid', `standard input has no ${what}`)
  return line
}
