/** Servers that are measured from outside: processes of their own, on a core of their own where the machine lets us choose. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { paths } from '../src/oauth/urls.ts'

const children: ChildProcess[] = []

/** Starts a program that says `"listening"` with its port, as the daemon does; servers run on core 0, unless anywhere is as good. */
export async function startServerProcess(
  args: readonly string[],
  options: {
    readonly cwd?: string
    readonly env?: Readonly<Record<string, string>>
    readonly anywhere?: true
  } = {},
): Promise<{ readonly port: number; readonly pid: number }> {
  const pinned =
    process.platform === 'linux' && !options.anywhere
      ? ['taskset', '-c', '0', process.execPath]
      : [process.execPath]
  const child = spawn(pinned[0]!, [...pinned.slice(1), ...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const port = await new Promise<number>((resolve, reject) => {
    child.on('close', (code) => reject(new Error(`${args.join(' ')} ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('"listening"')) resolve((JSON.parse(line) as { port: number }).port)
    })
  })
  return { port, pid: child.pid! }
}

/**
 * The real daemon over a copy of the shipped site in that folder, which `prepare` may change, without limits of what one user
 * may ask for, for so many requests at once.
 */
export async function startService(
  folder: string,
  atOnce = 1000,
  prepare: (site: string) => void = () => undefined,
): Promise<{
  readonly port: number
  readonly pid: number
  readonly tokenOf: (user: string) => Promise<string>
}> {
  const root = resolve(import.meta.dirname, '..')
  const site = join(folder, 'site')
  for (const part of ['config', 'prompts', 'skills'])
    cpSync(join(root, part), join(site, part), { recursive: true })
  const settings = join(site, 'config/settings.yaml')
  const text = readFileSync(settings, 'utf8')
  const unlimited = text.replace(/(^rate_limits:\n(?:\s*#.*\n)*\s+enabled:) true/m, '$1 false')
  const wider = unlimited.replace('max_concurrent_per_user: 8', 'max_concurrent_per_user: 1000')
  writeFileSync(
    settings,
    wider.replace('max_concurrent_requests: 1000', `max_concurrent_requests: ${atOnce}`),
  )
  prepare(site)
  const env = { ASSISTANT_CORE_SITE: site, ASSISTANT_CORE_STATE: join(folder, 'state') }
  const program = join(root, 'bin/assistant-core')
  const started = await startServerProcess([program, 'serve', '--port', '0'], { env })
  const tokenOf = async (user: string): Promise<string> => {
    const args = [program, 'tokens', 'issue', '--user', user, '--json']
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })
    return (JSON.parse(stdout) as { access_token: string }).access_token
  }
  return { ...started, tokenOf }
}

/** Returns how a client with that token asks a service; what is refused, or no success, ends the bench. */
export function asking(port: number, token: string): (method: string, params?: object) => Promise<string> {
  return async (method, params) => {
    const answer = await fetch(`http://localhost:${port}${paths.mcp}`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        Authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) }),
    })
    const text = await answer.text()
    if (!answer.ok || /"error"|"isError":true/.test(text))
      throw new Error(`${method}: ${answer.status} ${text}`)
    return text
  }
}

/** Ends them all, and waits for that. */
export async function stopServerProcesses(): Promise<void> {
  await Promise.all(
    children.splice(0).map(
      (child) =>
        new Promise<void>((resolve) => {
          if (child.exitCode !== null || child.signalCode !== null) return resolve()
          child.on('close', () => resolve())
          child.kill('SIGTERM')
          setTimeout(() => child.kill('SIGKILL'), 5000).unref()
        }),
    ),
  )
}

/**
 * Processor time that a process has used, in microseconds: of the threads that it has now, in nanoseconds
 * (`schedstat`), since the ticks of proc(5) are as long as thirty requests.
 */
export function usedBy(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + usedByThread(pid, thread), 0)
}

/** That of one thread, of the first unless another is named. */
export function usedByThread(pid: number, thread: number | string = pid): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000
}

/** The middle of what was measured. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
}

/** Prints a table in markdown: `bench/run.ts` puts it into the README. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`
  process.stdout.write(`${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`)
}
