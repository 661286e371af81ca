import { repeat } from '#leaf/turns.ts'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { openRepository } from '#site/git.ts'
import type { Librarian, Refreshed } from './librarian.ts'
import type { Channels } from './versions/channels.ts'

/** The callbacks and the interval of following. */
export interface FollowOptions {
  /** The library in use. */
  readonly library: () => Channels
  /** The setting `library.channels`. */
  readonly channels: () => Readonly<Record<string, string>>
  /** Called after the library changed, or a channel could not follow its branch. */
  readonly onRefreshed: (refreshed: Refreshed) => void | Promise<void>
  readonly onError: (error: unknown) => void
  /** The interval; half a second by default. */
  readonly milliseconds?: number
}

/** A running check of refs, which can be ended. */
export interface Following {
  /** Looks at once, without waiting for the interval. */
  look(): Promise<void>
  close(): Promise<void>
}

/**
 * Follows the branches that channels stand on, and the commits of the working tree: they move without
 * any file of the site changing. Git itself is asked only when one of its own files changed.
 */
export async function followRefs(
  folder: string,
  librarian: Librarian,
  options: FollowOptions,
): Promise<Following> {
  const repository = await openRepository(folder)
  if (!repository) return { look: () => Promise.resolve(), close: () => Promise.resolve() }
  const gitFolder = dirname(repository.lockFile)
  let seen: string | undefined
  let faults = '[]'
  let working: Promise<void> = Promise.resolve()

  async function lookNow(): Promise<void> {
    const library = options.library()
    const stamp = await stampOf(gitFolder, Object.values(options.channels()))
    if (stamp === seen) return
    const refreshed = await librarian.refresh(library)
    seen = stamp
    const told = JSON.stringify(refreshed.faults)
    if (refreshed.changed || told !== faults) await options.onRefreshed(refreshed)
    faults = told
  }

  function look(): Promise<void> {
    const turn = working.then(lookNow)
    working = turn.catch(options.onError)
    return turn
  }

  // What goes wrong was told by then.
  const timer = repeat(options.milliseconds ?? 500, look, () => undefined)
  return {
    look,
    close: async () => {
      clearInterval(timer)
      await working
    },
  }
}

/** Returns the state of these revisions and of HEAD in git's files, as one text that changes when they do. */
async function stampOf(gitFolder: string, refs: readonly string[]): Promise<string> {
  // Linked working trees keep their branches in the repository that they belong to.
  const common = await textOf(join(gitFolder, 'commondir'))
  const home = common === '' ? gitFolder : resolve(gitFolder, common)
  const head = await textOf(join(gitFolder, 'HEAD'))
  const branch = /^ref: (refs\/\S+)$/.exec(head)?.[1]
  const names = refs.map((ref) => ref.replace(/^site\/|[~^@].*$/g, '')).filter((name) => name !== '')
  const files = [
    ...(branch === undefined ? [] : [branch]),
    ...names.flatMap((name) =>
      ['', 'refs/', 'refs/heads/', 'refs/tags/', 'refs/remotes/site/', 'refs/remotes/origin/'].map(
        (kind) => `${kind}${name}`,
      ),
    ),
  ]
  const texts = await Promise.all(files.map((file) => textOf(join(home, file))))
  const packed = await stat(join(home, 'packed-refs'), { bigint: true }).catch(() => undefined)
  return JSON.stringify([head, texts, String(packed?.mtimeNs), String(packed?.ino)])
}

async function textOf(file: string): Promise<string> {
  return (await readFile(file, 'utf8').catch(() => '')).trim()
}
