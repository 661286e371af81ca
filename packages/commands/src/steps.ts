/** What a command changes on a machine, in steps that are all shown before the first of them is done. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { AppError } from '#leaf/errors.ts'
import { agreed, print, tell } from './terminal.ts'

/** One step, printed before it is carried out. */
export interface Step {
  readonly action: 'write' | 'keep' | 'remove' | 'run' | 'skip'
  readonly what: string
  readonly why?: string
  readonly do?: () => void | Promise<unknown>
}

/** A file: path, text and mode. */
export type OwnFile = readonly [path: string, text: string, mode?: number]

/** How steps are carried out. */
export interface Wish {
  /** The folder that the steps change, for one that becomes a machine; without it they change this machine, as root. */
  readonly root?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** Shows the steps, asks on a terminal, and carries them out; tells `after` at the end. */
export async function carryOut(
  steps: readonly Step[],
  { root, dryRun = false, yes }: Wish,
  { json }: { readonly json: boolean },
  after: string,
): Promise<void> {
  print(json, { dry_run: dryRun, steps: steps.map(({ do: _do, ...step }) => step) }, () =>
    steps.map(({ action, what, why }) => `${action.padEnd(7)} ${what}${why ? `   (${why})` : ''}`).join('\n'),
  )
  if (dryRun) return
  if (!root && process.getuid?.() !== 0)
    throw new AppError('forbidden', 'this changes the system; run it as root, or with --root or --dry-run')
  if (!yes && process.stdin.isTTY && !(await agreed('do this?')))
    throw new AppError('conflict', 'nothing was done')
  // The umask is set, whatever root's is: services must be able to read what is written for them.
  process.umask(0o022)
  for (const step of steps) await step.do?.()
  tell(after)
}

/** Makes the step of a file that each version writes anew. */
export function ownStep([what, text, mode]: OwnFile): Step {
  const found = contentOf(what)
  if (found === text) return { action: 'keep', what, why: 'is up to date' }
  const why = found === undefined ? undefined : 'replaces another version'
  return { action: 'write', what, why, do: () => put(what, text, mode) }
}

/** Makes the step of what is written once, and belongs to the operator from then on: a text, or what `write` writes. */
export function onceStep(what: string, write: string | (() => Promise<unknown>), why?: string): Step {
  if (existsSync(what)) return { action: 'keep', what, why: 'is yours' }
  return { action: 'write', what, why, do: typeof write === 'string' ? () => put(what, write) : write }
}

/** Makes the step that removes a file which is as it was written. */
export function removalStep([what, text]: OwnFile, kept: string): Step {
  return contentOf(what) === text
    ? { action: 'remove', what, do: () => rmSync(what) }
    : { action: 'keep', what, why: kept }
}

/** Makes the step of a program of systemd; skipped for a folder, or when systemd is not the running init. */
export function systemdStep(what: string, root: string): Step {
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
