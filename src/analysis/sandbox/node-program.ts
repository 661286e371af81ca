import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import type { SandboxView } from './bubblewrap.ts'

const require = createRequire(import.meta.url)

/** Where a package is installed, or undefined: it is optional. */
export function installed(name: string): string | undefined {
  try {
    return require.resolve(name)
  } catch {
    return undefined
  }
}

/** What a worker of ours, a plain `.mjs` file, needs to see: Node, itself, and the packages. */
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
 * The command line of a worker. Where there is no sandbox, Node's own permissions still keep our
 * JavaScript from files, programs and threads, and code from being made of text.
 */
export function workerProgram(
  worker: string,
  { show, showIfThere = [] }: SandboxView,
  heapMb: number,
  args: readonly string[] = [],
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
    '--disallow-code-generation-from-strings',
    '--no-warnings',
    worker,
    ...args,
  ]
}

/** A dependency may be installed beside its dependent or above it: the outermost folder holds both. */
function outermostModules(file: string): string {
  const index = file.indexOf('/node_modules/')
  return index === -1 ? dirname(file) : join(file.slice(0, index), 'node_modules')
}
