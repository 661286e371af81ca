/**
 * Makes commits with git's low-level commands instead of `git add` and `git commit`: staged work of others
 * stays as it is, and no filter that the repository configures runs.
 */
import { lstat, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import { exists, reasonOf } from './list-site.ts'
import { relativePath, runGit } from './run-git.ts'

/** A request to commit files in somebody's name. */
export interface CommitRequest {
  /** Relative to the site; may be new, changed or deleted. */
  readonly paths: readonly string[]
  readonly message: string
  readonly authorName: string
  readonly authorEmail: string
  /** Commits onto a branch that is not checked out: nothing of the working tree or the index is read or changed. */
  readonly onto?: BranchHead
}

/** A branch at a known head; if it has moved since, nothing is committed. */
interface BranchHead {
  readonly branch: string
  readonly head: string
  /** The new contents of the paths on the branch. */
  readonly contents: ReadonlyMap<string, Uint8Array>
}

/** The location of the site in its repository. */
interface Place {
  readonly cwd: string
  /** The site's folder relative to the repository's, with `/` at its end; empty when they are the same. */
  readonly prefix: string
  readonly gitFolder: string
}

// While one of these files exists, a commit would become part of somebody's merge or rebase.
const unfinished = ['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'rebase-merge', 'rebase-apply']

/** Commits the paths and nothing else; returns undefined when nothing changed. AppError `conflict`, `invalid`. */
export async function commitFiles(place: Place, request: CommitRequest): Promise<string | undefined> {
  const { cwd, gitFolder } = place
  const { onto } = request
  const paths = request.paths.map(relativePath)
  if (paths.length === 0) return undefined
  if (!onto) await requireFinished(gitFolder)
  const head = onto?.head ?? (await run(cwd, ['rev-parse', '--verify', '--quiet', 'HEAD'], {}, 'none'))
  // To git, an object name of zeros means "nothing"; its length is that of the repository's names.
  const none = '0'.repeat(head === 'none' ? 40 : head.length)
  const entries = (await Promise.all(paths.map((path) => entryOf(place, path, none, onto)))).join('')
  const index = join(gitFolder, `index.${randomId()}`)
  try {
    const aside = { env: { GIT_INDEX_FILE: index } }
    await run(cwd, ['read-tree', ...(head === 'none' ? ['--empty'] : [head])], aside)
    await run(cwd, ['update-index', '-z', '--index-info'], { ...aside, input: entries })
    const tree = await run(cwd, ['write-tree'], aside)
    if (head !== 'none' && tree === (await run(cwd, ['rev-parse', `${head}^{tree}`]))) return undefined

    const parents = head === 'none' ? [] : ['-p', head]
    const message = { input: `${request.message.replaceAll('\0', '').trim()}\n`, env: identity(request) }
    const commit = await run(cwd, ['commit-tree', tree, ...parents], message)
    // The index is updated before the branch: if the branch has moved, the files are merely staged.
    if (!onto) await run(cwd, ['update-index', '-z', '--index-info'], { input: entries })
    const before = head === 'none' ? '0'.repeat(commit.length) : head
    const ref = onto ? `refs/heads/${onto.branch}` : 'HEAD'
    await run(cwd, ['update-ref', '-m', 'commit by assistant-core', ref, commit, before])
    return commit
  } finally {
    await rm(index, { force: true })
    await rm(`${index}.lock`, { force: true })
  }
}

async function requireFinished(gitFolder: string): Promise<void> {
  for (const name of unfinished)
    if (await exists(join(gitFolder, name)))
      throw new AppError('conflict', 'git is in the middle of a merge or rebase')
}

/** Returns an index entry, `mode SP object TAB path NUL`; the mode 0 removes the path. */
async function entryOf(
  { cwd, prefix }: Place,
  path: string,
  none: string,
  onto: BranchHead | undefined,
): Promise<string> {
  const full = `${prefix}${path}`
  const store = (input: Uint8Array): Promise<string> =>
    run(cwd, ['hash-object', '-w', '--no-filters', '--stdin'], { input })
  if (onto) return `100644 ${await store(onto.contents.get(path)!)}\t${full}\0`
  const stats = await lstat(join(cwd, path)).catch((error: unknown) => {
    if (reasonOf(error) === 'it does not exist') return undefined
    throw error
  })
  if (!stats) return `0 ${none}\t${full}\0`
  if (!stats.isFile()) throw new AppError('invalid', `"${path}" is not a file`)
  const object = await store(await readFile(join(cwd, path)))
  return `${stats.mode & 0o100 ? '100755' : '100644'} ${object}\t${full}\0`
}

/** Runs git and returns its output; AppError `conflict` when git refuses, unless another answer is given for that. */
async function run(
  cwd: string,
  args: readonly string[],
  options: Parameters<typeof runGit>[2] = {},
  otherwise?: string,
): Promise<string> {
  const answer = await runGit(cwd, args, options)
  if (answer.ok) return answer.output.toString('utf8').trim()
  if (otherwise !== undefined) return otherwise
  throw new AppError('conflict', `git could not commit: ${answer.problem}`)
}

function identity({ authorName, authorEmail }: CommitRequest): Record<string, string> {
  const clean = (value: string): string => value.replaceAll(/[\u0000-\u001f\u007f<>]/g, ' ').trim()
  const name = clean(authorName) || 'unknown'
  const email = clean(authorEmail)
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  }
}
