/**
 * Runs git without a shell, with fixed arguments before the caller's, without the daemon's environment, and
 * without the repository's own programs (hooks, monitors, pagers): whoever may write prompts must not thereby
 * run commands as the daemon.
 */
import { execFile } from 'node:child_process'
import { AppError } from '#leaf/errors.ts'

const commandMilliseconds = 15_000
const outputBytes = 1024 * 1024 * 1024

/** The result of one run of git. */
export interface GitAnswer {
  readonly ok: boolean
  readonly output: Buffer
  /** The first line of git's error message. */
  readonly problem: string
}

// Settings on the command line override the repository's configuration. The owner of a site is often not the
// daemon's user, which git refuses unless it is told otherwise.
const fixedArguments = [
  '--no-pager',
  '--literal-pathspecs',
  ...[
    'safe.directory=*',
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'core.quotePath=false',
    'log.showSignature=false',
    'commit.gpgSign=false',
    'protocol.allow=never',
    'gc.auto=0',
    'maintenance.auto=false',
  ].flatMap((setting) => ['-c', setting]),
]

const fixedEnvironment = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin',
  LC_ALL: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
}

/** Options of one run of git beside its arguments. */
export interface GitOptions {
  readonly input?: string | Uint8Array
  readonly env?: Readonly<Record<string, string>>
  /** Settings as `key=value`, which override the repository's own. */
  readonly settings?: readonly string[]
  readonly milliseconds?: number
  readonly signal?: AbortSignal
}

/** Runs git; never fails, because a missing git, repository or object is an ordinary answer. */
export function runGit(cwd: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  const { env, settings = [], milliseconds = commandMilliseconds, signal } = options
  return new Promise((done) => {
    const child = execFile(
      'git',
      [...fixedArguments, ...settings.flatMap((setting) => ['-c', setting]), ...args],
      {
        cwd,
        env: { ...fixedEnvironment, ...env },
        encoding: 'buffer',
        timeout: milliseconds,
        // A git that talks to another machine has a child that must end as well, which git takes care of.
        killSignal: signal ? 'SIGTERM' : 'SIGKILL',
        maxBuffer: outputBytes,
        ...(signal && { signal }),
      },
      (error, output, complaint) => {
        const told = complaint.toString('utf8').split('\n')[0]!
        const ended = error?.killed === true ? `it was ended after ${milliseconds / 1000} seconds` : undefined
        done({
          ok: error === null,
          output,
          problem: (ended ?? told) || (error?.message.split('\n')[0] ?? ''),
        })
      },
    )
    // Git that ends early closes its input; only its answer counts.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.input ?? '')
  })
}

/** Returns the path as it is. AppError `invalid` unless the path stays inside the site. */
export function relativePath(path: string): string {
  if (path === '' || path.startsWith('/') || path.includes('\0') || path.split('/').includes('..')) {
    throw new AppError('invalid', `"${path}" is not a path inside the site`)
  }
  return path
}
