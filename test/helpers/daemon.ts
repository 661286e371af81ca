/** Starts the real program in a child process, from another directory, over folders of the test's own. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { requireNoSecrets } from './leaks.ts'

export const projectRoot = resolve(import.meta.dirname, '../..')
export const launcher = join(projectRoot, 'bin/assistant-core')

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningDaemon {
  /** Where it listens, whatever it publishes. */
  readonly url: string
  readonly site: string
  readonly state: string
  readonly process: ChildProcess
  /** Everything it wrote so far. */
  output(): { stdout: string; stderr: string }
  /** Runs a command of the program against this daemon's site and state. */
  cli(args: readonly string[], input?: string): Promise<Finished>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

const endings = new WeakMap<object, (() => unknown)[]>()

/** Runs a step when the test is over, the last that was asked for first: a daemon stops before its folder goes. */
export function atEnd(t: Pick<TestContext, 'after'>, step: () => unknown): void {
  const known = endings.get(t)
  if (known) return void known.push(step)
  const steps = [step]
  endings.set(t, steps)
  t.after(async () => {
    const faults: unknown[] = []
    for (const one of steps.toReversed())
      try {
        await one()
      } catch (fault) {
        faults.push(fault)
      }
    if (faults.length > 0) throw faults[0]
  })
}

/** A folder that is gone after the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'assistant-core-'))
  atEnd(t, () => {
    // By convention this is where a test's daemon keeps its state.
    requireNoSecrets(join(folder, 'state'))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return folder
}

/** A copy of the shipped site that a test may change. */
export function copyOfShippedSite(t: TestContext): string {
  const site = join(temporaryFolder(t), 'site')
  for (const part of ['config', 'prompts', 'skills'])
    cpSync(join(projectRoot, part), join(site, part), { recursive: true })
  // Nobody in front of it has to see that it stops.
  const settings = join(site, 'config/settings.yaml')
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('drain_seconds: 3', 'drain_seconds: 0'))
  return site
}

/** The program in a folder of its own, which a test may change. */
export function copyOfProgram(t: TestContext): string {
  const program = temporaryFolder(t)
  for (const part of ['src', 'packages', 'config', 'prompts', 'skills', 'package.json', 'CHANGELOG.md'])
    cpSync(join(projectRoot, part), join(program, part), { recursive: true })
  symlinkSync(resolve(projectRoot, 'node_modules'), join(program, 'node_modules'))
  const start = [
    "import { register } from 'tsx/esm/api'",
    'register()',
    "const { main } = await import('./src/cli/main.ts')",
    'await main(process.argv)',
  ]
  writeFileSync(join(program, 'start.mjs'), start.join('\n'))
  return program
}

/** Runs a command of the program to its end. */
export function runCli(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string; input?: string } = {},
): Promise<Finished> {
  return new Promise((resolvePromise, reject) => {
    const child = spawn(launcher, args, {
      cwd: options.cwd ?? tmpdir(),
      env: { ...process.env, NO_COLOR: '1', ...options.env },
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.on('error', reject)
    child.on('close', (code) => resolvePromise({ code, stdout, stderr }))
    child.stdin.end(options.input ?? '')
  })
}

/** Starts `assistant-core serve` on a free port and waits until it accepts requests. */
export async function startDaemon(
  t: TestContext,
  options: {
    site?: string
    state?: string
    args?: readonly string[]
    env?: NodeJS.ProcessEnv
    /** Another program than this one, such as a copy with a change. */
    program?: string
  } = {},
): Promise<RunningDaemon> {
  const site = options.site ?? copyOfShippedSite(t)
  const state = options.state ?? join(temporaryFolder(t), 'state')
  const env = { ...process.env, ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: state, ...options.env }
  const serve = ['serve', '--port', '0', ...(options.args ?? [])]
  const [command, args] = options.program
    ? [process.execPath, [options.program, ...serve]]
    : [launcher, serve]
  const child = spawn(command, args, { cwd: tmpdir(), env })
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const closed = new Promise<number | null>((resolvePromise) => child.on('close', resolvePromise))
  const listening = new Promise<string>((resolvePromise) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      stdout += `${line}\n`
      const entry = parsed(line)
      if (entry?.['msg'] === 'listening') resolvePromise(`http://localhost:${String(entry['port'])}`)
    })
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal)
    return await closed
  }
  atEnd(t, () => stop('SIGKILL'))
  const url = await Promise.race([
    listening,
    closed.then((code) => {
      throw new Error(`the daemon ended with code ${code} before it listened:\n${stdout}\n${stderr}`)
    }),
  ])
  return {
    url,
    site,
    state,
    process: child,
    output: () => ({ stdout, stderr }),
    cli: (args, input) => runCli(args, { env, ...(input !== undefined && { input }) }),
    stop,
  }
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Has daemons that write one audit log know each other: whoever began first has not seen the others yet. */
export async function signForEachOther(daemons: readonly RunningDaemon[]): Promise<void> {
  for (const daemon of daemons) {
    for (;;) {
      const { code, stdout } = await daemon.cli(['audit', 'verify', '--json'])
      const [, stranger] = /accept-writer --reason WHY -- ([\w-]+)/.exec(stdout) ?? []
      assert.equal(code === 0, stranger === undefined, stdout)
      if (stranger === undefined) break
      const args = ['audit', 'accept-writer', '--reason', 'set up today', '--', stranger]
      const accepted = await daemon.cli(args)
      assert.equal(accepted.code, 0, accepted.stderr)
    }
  }
}
