import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { AppError } from '#leaf/errors.ts'
import type { Isolation, SandboxView } from './bubblewrap.ts'
import { type Child, endedEarly } from './child.ts'
import { spawnChild } from './spawned.ts'

const require = createRequire(import.meta.url)

/** Returns the path of an optional package, or undefined when it is not installed. */
export function installed(name: string): string | undefined {
  try {
    return require.resolve(name)
  } catch {
    return undefined
  }
}

/** A plain `.mjs` file, the packages that it imports, and its bounds: V8's heap within all of its memory. */
export interface Worker {
  readonly isolation: Isolation
  readonly worker: string
  readonly packages: readonly string[]
  readonly args?: readonly string[]
  readonly heapMb: number
  readonly dataMb: number
  readonly maxMessageBytes: number
  /** The name of the work, for messages. */
  readonly what: string
}

/** Starts a worker and waits until it reports that it is ready; AppError `unavailable` when it does not. */
export async function startWorker(options: Worker): Promise<Child> {
  const { isolation, worker, packages, args = [], heapMb, dataMb, maxMessageBytes, what } = options
  const view = viewForWorker(worker, packages)
  const child = spawnChild({
    isolation,
    view,
    program: workerProgram(worker, view, heapMb, args),
    // No file may be written: all output goes through the channel.
    limits: { dataBytes: dataMb * 1_048_576, fileBytes: 0, openFiles: 1024 },
    maxMessageBytes,
    maxOutputBytes: 16_384,
  })
  try {
    const said = await child.within(30_000, 'took too long to start', () => child.receive())
    const { ready } = said as { ready?: unknown }
    if (ready === true) return child
    throw new AppError('unavailable', `${what} did not start as it should`)
  } catch (error) {
    child.kill()
    throw endedEarly(error, what, 'unavailable')
  }
}

/** Returns the files that a worker of ours, a plain `.mjs` file, needs: Node, itself, and the packages. */
export function viewForWorker(worker: string, packages: readonly string[]): SandboxView {
  const folders = packages.map((name) => outermostModules(require.resolve(name)))
  return {
    show: [
      ...new Set([
        ...(process.execPath.startsWith('/usr/') ? [] : [process.execPath]),
        dirname(worker),
        import.meta.dirname,
        ...folders,
      ]),
    ],
    showIfThere: ['/usr/share/fonts', '/etc/fonts', '/proc/sys/vm/overcommit_memory'],
    environment: { HOME: '/tmp', TZ: 'UTC', LANG: 'C.UTF-8' },
  }
}

/**
 * Returns the command line of a worker. Where there is no sandbox, Node's own permissions still keep our
 * JavaScript from files, programs and threads, and from making code of text. They leave the network to the sandbox:
 * newer releases count the channel to the daemon, a socket that the worker is born with, as network.
 */
function workerProgram(
  worker: string,
  { show, showIfThere = [] }: SandboxView,
  heapMb: number,
  args: readonly string[],
): string[] {
  const permission =
    Number(process.versions.node.split('.')[0]) >= 23 ? '--permission' : '--experimental-permission'
  return [
    process.execPath,
    `--max-old-space-size=${heapMb}`,
    permission,
    ...[...show, ...showIfThere].map(
      (path) => `--allow-fs-read=${path === process.execPath ? path : `${path}/`}`,
    ),
    '--allow-addons',
    ...(process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []),
    '--disallow-code-generation-from-strings',
    '--no-warnings',
    worker,
    ...args,
  ]
}

/** Returns the outermost modules folder: a dependency may be installed beside its dependent or above it. */
function outermostModules(file: string): string {
  const index = file.indexOf('/node_modules/')
  return index === -1 ? dirname(file) : join(file.slice(0, index), 'node_modules')
}
