/** Child processes that the daemon starts itself, each under limits of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import process from 'node:process'
import type { Duplex } from 'node:stream'
import { bubblewrapArgs, type Isolation, userFor, type SandboxView } from './bubblewrap.ts'
import type { JobLimits } from './cgroups.ts'
import { Child, type SpeechLimits } from './child.ts'

/** Processes and threads of one job. */
export const mostProcesses = 256
/** What the kernel may keep for one job. */
export const kernelBytes = 64 * 1_048_576

/** Limits that the kernel keeps for the process. */
export interface ProcessLimits {
  /** Bytes of private memory (RLIMIT_DATA); address space that is only reserved does not count. */
  readonly dataBytes?: number
  readonly fileBytes: number
  readonly openFiles: number
  readonly cpuSeconds?: number
}

/** A program, how it is shut off, and what it may use up or say. */
export interface ChildOptions extends SpeechLimits {
  readonly isolation: Isolation
  readonly view: SandboxView
  readonly program: readonly string[]
  readonly limits: ProcessLimits
  /** What it finds on standard input; nothing without it. */
  readonly input?: Uint8Array
}

/** Starts a program. */
export function spawnChild(options: ChildOptions): Child {
  const { isolation, view, program, limits, input } = options
  const shut = isolation.kind === 'bubblewrap' ? isolation : undefined
  const job =
    typeof isolation.cgroups === 'object' ? isolation.cgroups.job(jobLimits(limits, view)) : undefined
  const command = shut ? [shut.path, ...bubblewrapArgs(shut, view), ...program] : program
  // It begins when it is in its cgroup, and so with all that it starts.
  const begin = job ? 'read -r _ <&3; ' : ''
  // The daemon's own thread goes before whatever it lets others compute.
  const started = spawn(
    '/bin/sh',
    ['-c', `${begin}${ulimits(limits)}exec nice -n 10 "$@"`, 'sh', ...command],
    {
      cwd: '/',
      env: shut ? {} : { ...view.environment },
      // Its own process group, so that all of it can be killed at once.
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
  // Once it speaks it has started, and works for somebody from then on; what is given its input does so at once.
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
 * A session is a group to the scheduler (`autogroup` in sched(7)), as heavy as any other however nice its processes are:
 * the group has to yield as well, though not much to whatever else runs here. Who is not root may say so ten times a second.
 */
function yieldGroup(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, '5', { flag: 'r+' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') setTimeout(yieldGroup, 200, child).unref()
  }
}

/** Beside its private memory a process has its scratch, and the kernel what it keeps for both. */
function jobLimits({ dataBytes }: ProcessLimits, { scratchBytes = 0, forks }: SandboxView): JobLimits {
  // Forks have cgroups of their own.
  if (dataBytes === undefined || forks !== undefined) return { processes: mostProcesses }
  return { memoryBytes: dataBytes + scratchBytes + kernelBytes, processes: mostProcesses }
}

/** The POSIX shell sets limits on every Unix, without a further program. */
function ulimits(limits: ProcessLimits): string {
  const set = [
    'ulimit -c 0',
    `ulimit -f ${Math.ceil(limits.fileBytes / 512)}`,
    `ulimit -n ${limits.openFiles}`,
    // Other systems count differently, and have no such sandbox anyway.
    ...(limits.dataBytes === undefined || process.platform !== 'linux'
      ? []
      : [`ulimit -d ${Math.ceil(limits.dataBytes / 1024)}`]),
    ...(limits.cpuSeconds === undefined ? [] : [`ulimit -t ${Math.ceil(limits.cpuSeconds)}`]),
  ]
  return set.map((line) => `${line} || exit 126; `).join('')
}
