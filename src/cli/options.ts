import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../core/errors.ts'
import { tell } from './output.ts'

/** What every command knows: where the site and the state are, what URL is published, how to print. */
export interface Options {
  readonly site: string
  readonly state: string
  readonly publicUrl?: string
  readonly json: boolean
}

const packageRoot = resolve(import.meta.dirname, '../..')

/** The options that every command takes, before or after its name. */
export function addGlobalOptions(program: Command): void {
  program
    .option('--site <folder>', 'the site: config/, prompts/, skills/ (environment: ASSISTANT_CORE_SITE)')
    .option(
      '--state <folder>',
      'what the program itself learns (environment: ASSISTANT_CORE_STATE; default: var/ in the site)',
    )
    .option('--public-url <url>', 'the address that clients use (environment: ASSISTANT_CORE_PUBLIC_URL)')
    .option('--json', 'print results as JSON')
}

/** The options of a command line: flags, then the environment, then defaults. */
export function readOptions(command: Command): Options {
  const flags = command.optsWithGlobals<{
    site?: string
    state?: string
    publicUrl?: string
    json?: boolean
  }>()
  const named = flags.site ?? process.env['ASSISTANT_CORE_SITE']
  const site = resolve(named ?? defaultSite())
  const state = resolve(flags.state ?? process.env['ASSISTANT_CORE_STATE'] ?? join(site, 'var'))
  if (named === undefined && site === packageRoot && state === join(site, 'var')) noteService(command)
  const publicUrl = flags.publicUrl ?? process.env['ASSISTANT_CORE_PUBLIC_URL']
  return { site, state, ...(publicUrl && { publicUrl }), json: flags.json ?? false }
}

/** What `install --systemd` makes for the commands on the installed service. */
const serviceCommand = '/usr/local/sbin/assistant-corectl'

/** How a person calls this program for a site: the installed service has a command of its own. */
export function programFor(site: string): string {
  return site === '/etc/assistant-core' && existsSync(serviceCommand) ? 'assistant-corectl' : 'assistant-core'
}

/** On a machine with the service, who names no site most likely means the service's. */
function noteService(command: Command): void {
  if (existsSync(serviceCommand) && !/^(un)?install$|^init$/.test(command.name()))
    tell(`note: this is ${packageRoot}, not the service of this machine; for that use assistant-corectl`)
}

/** The working directory when it is a site, else the site that ships with the package. */
function defaultSite(): string {
  return existsSync(join(process.cwd(), 'config', 'settings.yaml')) ? process.cwd() : packageRoot
}

/** A secret from the first line of standard input: as an argument, other users of the machine could read it. */
export async function readSecret(what: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  const line = Buffer.concat(chunks).toString('utf8').split(/\r?\n/)[0] ?? ''
  if (line === '') throw new AppError('invalid', `standard input has no ${what}`)
  return line
}
