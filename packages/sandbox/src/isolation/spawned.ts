/** Child processes that the daemon starts itself, each under limits of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import process from 'node:process'
import type { Duplex } from 'node:stream'
import { bubblewrapArgs, type Isolation, userFor, type SandboxView } from './bubblewrap.ts'
import type { JobLimits } from './cgroups.ts'
import { Child, type SpeechLimits } from './child.ts'

/** The most processes and threads of one job. */
export const mostProcesses = 256
/** The most bytes that the kernel may keep for one job. */
export const kernelBytes = 64 * 1_048_576

/** Limits that the kernel enforces on the process. */
export interface ProcessLimits {
  /** Bytes of private memory (RLIMIT_DATA); address space that is only reserved does not count. */
  readonly dataBytes?: number
  readonly fileBytes: number
  readonly openFiles: number
  readonly cpuSeconds?: number
}

/** A program, its isolation, and its limits. */
export interface ChildOptions extends SpeechLimits {
  readonly isolation: Isolation
  readonly view: SandboxView
  readonly program: readonly string[]
  readonly limits: ProcessLimits
  /** The standard input; empty without it. */
  readonly input?: Uint8Array
}

/** Starts a program. */
export function spawnChild(options: ChildOptions): Child {
  const { isolation, view, program, limits, input } = options
  const shut = isolation.kind === 'bubblewrap' ? isolation : undefined
  const job =
    typeof isolation.cgroups === 'object' ? isolation.cgroups.job(jobLimits(limits, view)) : undefined
  const command = shut ? [shut.path, ...bubblewrapArgs(shut, view), ...program] : program
  // The program begins when it is in its cgroup, so that all that it starts is in it too.
  const begin = job ? 'read -r _ <&3; ' : ''
  // The daemon's own thread has priority over the work that it starts.
  const started = spawn(
    '/bin/sh',
    ['-c', `${begin}${ulimits(limits)}exec nice -n 10 "$@"`, 'sh', ...command],
    {
      cwd: '/',
      env: shut ? {} : { ...view.environment },
      // A process group of its own, so that all of it can be killed at once.
      detached: true,
      stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      ...(shut && userFor(shut, view)),
    },
  )
  const [stdin, output, complaints, channel, seccomp] = started.stdio
  if (job && started.pid !== undefined) {
    job.add(started.pid)
    ;(channel as Duplex).write('\n')
  }
  const filter = seccomp as Duplex
  filter.on('error', () => {}).end(shut && !view.forks ? shut.seccomp : undefined)
  filter.resume()
  // After its first message it has started, and works for somebody from then on; with an input it does so at once.
  if (input) yieldGroup(started)
  else (channel as Duplex).once('data', () => yieldGroup(started))
  stdin?.on('error', () => {}).end(input)
  return new Child(options, {
    channel: channel as Duplex,
    output: output!,
    complaints: complaints!,
    job,
    ended: new Promise((resolve) => {
      started.once('error', (error) => resolve(error.message))
      started.once('exit', (code, signal) =>
        resolve(signal ? `killed by ${signal}` : `ended with code ${code}`),
      )
    }),
    kill: () => {
      try {
        if (started.pid !== undefined) process.kill(-started.pid, 'SIGKILL')
      } catch {
        started.kill('SIGKILL')
      }
    },
  })
}

/**
 * Lowers the session's priority: a session is a group to the scheduler (`autogroup` in sched(7)), as heavy as any other
 * however nice its processes are. It yields only a little to other programs. Non-root users may set it ten times a second.
 */
function yieldGroup(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, '5', { flag: 'r+' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') setTimeout(yieldGroup, 200, child).unref()
  }
}

/** Returns the limits of a job: its private memory, its scratch space, and the kernel's memory for both. */
function jobLimits({ dataBytes }: ProcessLimits, { scratchBytes = 0, forks }: SandboxView): JobLimits {
  // Forks have cgroups of their own.
  if (dataBytes === undefined || forks !== undefined) return { processes: mostProcesses }
  return { memoryBytes: dataBytes + scratchBytes + kernelBytes, processes: mostProcesses }
}

/** Returns shell commands that set the limits: the POSIX shell does so on every Unix, without a further program. */
function ulimits(limits: ProcessLimits): string {
  const set = [
    'ulimit -c 0',
    `ulimit -f ${Math.ceil(limits.fileBytes / 512)}`,
    // A lower limit stays: asking for more would end the shell.
    `if (ulimit -n ${limits.openFiles}) 2>&-; then ulimit -n ${limits.openFiles}; fi`,
    // Other systems count differently, and have no such sandbox anyway.
    ...(limits.dataBytes === undefined || process.platform !== 'linux'
      ? []
      : [`ulimit -d ${Math.ceil(limits.dataBytes / 1024)}`]),
    ...(limits.cpuSeconds === undefined ? [] : [`ulimit -t ${Math.ceil(limits.cpuSeconds)}`]),
  ]
  return set.map((line) => `${line} || exit 126; `).join('')
}
