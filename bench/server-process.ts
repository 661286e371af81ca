/** Servers that are measured from outside: processes of their own, on a core of their own where the machine lets us choose. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { createInterface } from 'node:readline'

const children: ChildProcess[] = []

/** Starts a program that says `"listening"` with its port, as the daemon does; servers run on core 0. */
export async function startServerProcess(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<{ readonly port: number; readonly pid: number }> {
  const pinned = process.platform === 'linux' ? ['taskset', '-c', '0', process.execPath] : [process.execPath]
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

/** Processor time that a process has used, in microseconds (proc(5): utime and stime, in ticks of 10 ms). */
export function usedBy(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
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
