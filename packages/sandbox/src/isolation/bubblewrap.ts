/**
 * bubblewrap: a program sees `/usr` read-only, an empty `/tmp`, and nothing else – no files of the
 * host, no network, no other process, no `/proc`, an empty environment, no privilege.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import type { Cgroups } from './cgroups.ts'
import { seccompProgram } from './seccomp.ts'

/** The user and group of a program, as the host numbers them. */
export interface Ids {
  readonly uid: number
  readonly gid: number
}

/** The isolation of our programs from the machine. */
export type Isolation = {
  /** The parent of the cgroups of our processes; or the reason why there is none. */
  readonly cgroups?: Cgroups | string
} & (
  | {
      readonly kind: 'bubblewrap'
      readonly path: string
      /** The user to switch to when the daemon is root: root is exempt from process limits. */
      readonly runAs: Ids | undefined
      readonly seccomp: Uint8Array | undefined
    }
  | { readonly kind: 'process'; readonly reason: string; readonly mend: string }
)

/** The part of the machine that a program needs to see, apart from `/usr`. */
export interface SandboxView {
  /** Files and folders that are shown read-only, at their own path. */
  readonly show: readonly string[]
  /** Files shown read-only at another path, which hides their real one. */
  readonly showAs?: Readonly<Record<string, string>>
  /** Files and folders that are shown where they exist. */
  readonly showIfThere?: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** The most bytes in `/tmp`; without it nothing can be written or made anywhere. */
  readonly scratchBytes?: number
  /**
   * A folder of the daemon's, shown as `/tmp/calls`, for a program of ours that isolates its own
   * forks: it keeps the right to make namespaces, and takes it from each fork.
   */
  readonly forks?: string
}

const nobody = 65534
const seccompFd = 4

/** Finds the isolation that this machine can give, by trying it. */
export async function probeIsolation(searchPath = '/usr/bin:/usr/local/bin:/bin'): Promise<Isolation> {
  if (process.platform !== 'linux')
    return refuse('bubblewrap needs Linux', 'run the daemon on Linux, or in a Linux virtual machine')
  const path = searchPath
    .split(':')
    .map((folder) => `${folder}/bwrap`)
    .find(isExecutable)
  if (path === undefined)
    return refuse(`bubblewrap is not installed (no bwrap in ${searchPath})`, 'apt-get install bubblewrap')
  const isolation: Isolation = {
    kind: 'bubblewrap',
    path,
    runAs: process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : undefined,
    seccomp: seccompProgram(process.arch),
  }
  // In a namespace with only one id, root cannot become another user.
  for (const way of isolation.runAs ? [isolation, { ...isolation, runAs: undefined }] : [isolation]) {
    const view = { show: [], environment: {}, scratchBytes: 1 << 20 }
    const fault = await attempt(way, [...bubblewrapArgs(way, view), '/usr/bin/true'])
    if (fault === undefined) return way
    if (!(fault instanceof Error)) return explain(fault)
  }
  return explain('the daemon is root in a namespace without other users')
}

/** Returns the arguments of `bwrap` before the program's own. Descriptor 4 must carry the seccomp program. */
export function bubblewrapArgs(isolation: Isolation & { kind: 'bubblewrap' }, view: SandboxView): string[] {
  const { scratchBytes, environment, show, showAs = {}, showIfThere = [], forks } = view
  const fixed = (line: string): string[] => line.split(' ')
  return [
    ...(forks === undefined ? ['--disable-userns'] : []),
    ...fixed(`--unshare-all --unshare-user --cap-drop ALL --uid ${nobody} --gid ${nobody}`),
    ...fixed('--hostname sandbox --die-with-parent --clearenv'),
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...fixed('--ro-bind /usr /usr'),
    ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap(systemFolder),
    ...fixed('--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache'),
    ...fixed('--ro-bind-try /etc/alternatives /etc/alternatives'),
    // bubblewrap cannot bound the number of files in a tmpfs: a program that needs it mounts its own (`runner.py`).
    ...fixed(scratchBytes === undefined ? '--dir /tmp' : `--size ${scratchBytes} --perms 1777 --tmpfs /tmp`),
    ...fixed('--dev /dev'),
    ...(forks === undefined ? [] : ['--bind', forks, '/tmp/calls', ...fixed('--bind /proc /proc')]),
    ...show.flatMap((path) => ['--ro-bind', path, path]),
    ...Object.entries(showAs).flatMap(([path, as]) => ['--ro-bind', path, as]),
    ...showIfThere.flatMap((path) => ['--ro-bind-try', path, path]),
    // The root and /dev are memory that no limit counts: read-only once everything is in place.
    ...fixed('--remount-ro /dev --remount-ro / --chdir /tmp'),
    ...(isolation.seccomp && forks === undefined ? ['--seccomp', String(seccompFd)] : []),
    '--',
  ]
}

/**
 * Returns the user as which bubblewrap itself runs. Where nobody cannot reach the program's files (a
 * checkout in root's home), it stays the daemon's: inside, the program is nobody all the same.
 */
export function userFor(isolation: Isolation & { kind: 'bubblewrap' }, view: SandboxView): Ids | undefined {
  const paths = [...view.show, ...Object.keys(view.showAs ?? {})]
  return isolation.runAs && paths.every(openToAll) ? isolation.runAs : undefined
}

function openToAll(path: string): boolean {
  if (path === '/') return true
  const stat = statSync(path, { throwIfNoEntry: false })
  // The last three bits: others may read a file, and enter a folder.
  const wanted = stat?.isDirectory() ? 0o001 : 0o004
  return stat !== undefined && (stat.mode & wanted) !== 0 && openToAll(dirname(path))
}

/** Returns the arguments for a folder such as `/lib`: a link into `/usr` on most systems, a folder on some. */
function systemFolder(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat) return []
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Runs the sandbox once; returns undefined, its output when it failed, or an Error when it could not be run as that user. */
function attempt(
  isolation: Isolation & { kind: 'bubblewrap' },
  args: string[],
): Promise<string | Error | undefined> {
  return new Promise((resolve, reject) => {
    let child: ChildProcess
    try {
      child = spawn(isolation.path, args, {
        env: {},
        cwd: '/',
        stdio: ['ignore', 'ignore', 'pipe', 'ignore', 'pipe'],
        ...isolation.runAs,
      })
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EINVAL') resolve(error)
      else reject(error instanceof Error ? error : new Error(String(error)))
      return
    }
    let said = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    child.stderr?.on('data', (data: Buffer) => {
      if (said.length < 4096) said += data.toString('utf8')
    })
    const program = child.stdio[4]
    if (program && 'end' in program) program.on('error', () => {}).end(isolation.seccomp ?? Buffer.alloc(0))
    child.once('error', (error) => finish(error.message))
    child.once('close', (code, signal) =>
      finish(code === 0 ? undefined : said.trim() || `bwrap ended with ${signal ?? `code ${code}`}`),
    )
    function finish(result: string | undefined): void {
      clearTimeout(timer)
      resolve(result)
    }
  })
}

function explain(fault: string): Isolation {
  const setting = (name: string): string | undefined => {
    try {
      return readFileSync(`/proc/sys/${name}`, 'utf8').trim()
    } catch {
      return undefined
    }
  }
  const said = `bubblewrap cannot start: ${fault.split('\n')[0]}`
  if (/unknown option/i.test(fault)) return refuse(said, 'install bubblewrap 0.8 or newer')
  if (setting('user/max_user_namespaces') === '0')
    return refuse(said, 'allow user namespaces: sysctl -w user.max_user_namespaces=15000')
  if (setting('kernel/unprivileged_userns_clone') === '0')
    return refuse(said, 'allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1')
  if (setting('kernel/apparmor_restrict_unprivileged_userns') === '1')
    return refuse(
      said,
      'let bwrap make user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for /usr/bin/bwrap with "userns,"',
    )
  return refuse(
    said,
    'user namespaces are denied from outside: in a container, run it with a seccomp profile that allows unshare, clone and mount (docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined); under systemd, remove RestrictNamespaces= and allow @mount in SystemCallFilter=',
  )
}

function refuse(reason: string, mend: string): Isolation {
  return { kind: 'process', reason, mend }
}
