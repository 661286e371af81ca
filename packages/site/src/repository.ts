/** The git repository that a site is in, or is a part of. No shell is used, and no options come from outside. */
import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { commitFiles, type CommitRequest } from './git-commit.ts'
import { relativePath, runGit as git, type GitAnswer as Answer } from './run-git.ts'

/** One commit that touched a file. */
export interface FileCommit {
  /** The full object name. */
  readonly commit: string
  readonly authorName: string
  readonly authorEmail: string
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly subject: string
  /** The path of the file at that commit, relative to the site; files keep their history when they are renamed. */
  readonly path: string
}

/** One state of a file that a commit made. */
export interface FileRevision extends FileCommit {
  /** The object name of the file's bytes; see `objects`. */
  readonly object: string
}

/** One file of a tree as git stores it. */
export interface TreeFile {
  /** Relative to the site. */
  readonly path: string
  readonly isLink: boolean
  readonly object: string
  readonly size: number
}

/** The repository around a site; every path is relative to the site. */
export interface Repository {
  /** A file that exists while git changes the working tree. */
  readonly lockFile: string
  /** Returns the commit that is checked out; undefined in a repository without commits. */
  head(): Promise<string | undefined>
  /** Returns the commit that a branch, tag or other revision names; undefined when there is none. */
  resolve(ref: string): Promise<string | undefined>
  /** Returns the branch that is checked out; undefined when none is. */
  branch(): Promise<string | undefined>
  /** Returns the commits that touched a file, newest first. */
  history(path: string, limit?: number): Promise<FileCommit[]>
  /** Returns the states of every file below folders of the site, newest first, along the first parents of a revision. */
  revisions(ref: string, folders: readonly string[]): Promise<FileRevision[]>
  /** Returns a file's bytes at a revision; undefined when it is not there. */
  contentAt(path: string, ref: string): Promise<Uint8Array | undefined>
  /** Returns the files below folders of the site at a revision; undefined when there is no such revision. */
  treeAt(ref: string, folders: readonly string[]): Promise<TreeFile[] | undefined>
  /** Returns the bytes of objects by name. */
  objects(names: readonly string[]): Promise<Map<string, Uint8Array>>
  /** Commits the paths and nothing else; returns undefined when nothing changed. AppError `conflict`, `invalid`. */
  commit(request: CommitRequest): Promise<string | undefined>
}

/** Opens the repository that the folder is in; undefined when there is none, or no git on this machine. */
export async function openRepository(folder: string): Promise<Repository | undefined> {
  const cwd = resolve(folder)
  if (!(await isBelowGit(cwd))) return undefined
  const found = await git(cwd, ['rev-parse', '--is-inside-work-tree', '--show-prefix', '--absolute-git-dir'])
  const [inside, prefix = '', gitFolder = ''] = found.ok ? text(found.output).split('\n') : []
  if (inside !== 'true') return undefined
  const place: Place = { cwd, prefix }
  let commits: Promise<unknown> = Promise.resolve()
  return {
    lockFile: join(gitFolder, 'index.lock'),
    head: () => commitOf(cwd, 'HEAD'),
    resolve: (ref) => commitOf(cwd, ref),
    branch: async () => one(await git(cwd, ['symbolic-ref', '--quiet', '--short', 'HEAD'])),
    contentAt: async (path, ref) => {
      const files = await treeAt(place, ref, [relativePath(path)])
      const file = files?.find((entry) => entry.path === path)
      return file && (await objectsOf(cwd, [file.object])).get(file.object)
    },
    treeAt: (ref, folders) => treeAt(place, ref, folders),
    objects: (names) => objectsOf(cwd, names),
    revisions: (ref, folders) => revisionsOf(place, ref, folders),
    history: (path, limit = 100) => historyOf(place, path, limit),
    commit: (request) => {
      const turn = commits.then(() => commitFiles({ cwd, prefix, gitFolder }, request))
      commits = turn.catch(() => undefined)
      return turn
    },
  }
}

/** The folder in which git runs, and the prefix of the site's paths in its answers. */
interface Place {
  readonly cwd: string
  readonly prefix: string
}

async function commitOf(cwd: string, ref: string): Promise<string | undefined> {
  if (!isRef(ref)) return undefined
  return one(await git(cwd, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]))
}

async function treeAt(
  { cwd, prefix }: Place,
  ref: string,
  folders: readonly string[],
): Promise<TreeFile[] | undefined> {
  const commit = await commitOf(cwd, ref)
  if (commit === undefined) return undefined
  const name = one(await git(cwd, ['rev-parse', '--verify', '--quiet', `${commit}:${prefix}`]))
  // The site's folder may not have existed yet.
  if (name === undefined) return []
  const listed = await git(cwd, ['ls-tree', '-r', '-z', '-l', '--full-tree', name, '--', ...folders])
  return listed.ok ? treeFiles(listed.output) : []
}

async function objectsOf(cwd: string, names: readonly string[]): Promise<Map<string, Uint8Array>> {
  if (names.length === 0) return new Map()
  const answer = await git(cwd, ['cat-file', '--batch'], { input: `${names.join('\n')}\n` })
  if (!answer.ok) throw new AppError('unavailable', `git cannot read its objects: ${answer.problem}`)
  return batchObjects(answer.output)
}

async function revisionsOf(
  { cwd, prefix }: Place,
  ref: string,
  folders: readonly string[],
): Promise<FileRevision[]> {
  const commit = await commitOf(cwd, ref)
  if (commit === undefined) return []
  const format = '--format=%x01%H%x00%an%x00%ae%x00%at%x00%s'
  const how = ['--raw', '-z', '--first-parent', '-m', '--no-renames', '--no-abbrev']
  const answer = await git(cwd, ['log', ...how, format, commit, '--', ...folders])
  return answer.ok ? fileRevisions(text(answer.output), prefix) : []
}

async function historyOf({ cwd, prefix }: Place, path: string, limit: number): Promise<FileCommit[]> {
  const format = '--format=%H%x00%an%x00%ae%x00%at%x00%s'
  const count = `--max-count=${Math.max(1, Math.floor(limit))}`
  const args = ['log', '--follow', '--name-only', '-z', format, count, '--', relativePath(path)]
  const answer = await git(cwd, args)
  return answer.ok ? fileCommits(text(answer.output), prefix, path) : []
}

/** True when a `.git` exists in the folder or above it: starting git only to ask holds up every request for milliseconds. */
async function isBelowGit(folder: string): Promise<boolean> {
  const real = await realpath(folder).catch(() => folder)
  for (let at = real; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return true
    if (at === dirname(at)) return false
  }
}

/** True for a safe revision: no option, no path, no search, no range. */
function isRef(ref: string): boolean {
  return ref.length <= 200 && /^[A-Za-z0-9_@][A-Za-z0-9_./@{}~^+-]*$/.test(ref) && !ref.includes('..')
}

/** Parses `mode SP type SP object SP+ size TAB path NUL`; submodules are no files. */
export function treeFiles(output: Buffer): TreeFile[] {
  const files: TreeFile[] = []
  for (const entry of text(output).split('\0')) {
    const match = /^(\d{6}) blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(entry)
    if (!match) continue
    files.push({ path: match[4]!, isLink: match[1] === '120000', object: match[2]!, size: Number(match[3]) })
  }
  return files
}

/** Parses `object SP type SP size LF bytes LF`, or `object SP missing LF`. */
function batchObjects(output: Buffer): Map<string, Uint8Array> {
  const objects = new Map<string, Uint8Array>()
  for (let at = 0; at < output.length;) {
    const end = output.indexOf(10, at)
    const [name = '', , size] = output.toString('utf8', at, end).split(' ')
    at = end + 1
    if (size === undefined) continue
    objects.set(name, output.subarray(at, at + Number(size)))
    at += Number(size) + 1
  }
  return objects
}

/** Parses five fields and, except for merges, the path at that commit, each ended by NUL. */
function fileCommits(output: string, prefix: string, newest: string): FileCommit[] {
  const fields = output.split('\0')
  const commits: FileCommit[] = []
  let path = newest
  for (let at = 0; at + 4 < fields.length;) {
    const [commit, authorName, authorEmail, seconds, subject] = fields.slice(at, at + 5) as [
      string,
      string,
      string,
      string,
      string,
    ]
    at += 5
    if (fields[at]?.startsWith('\n')) {
      const full = fields[at++]!.slice(1)
      path = full.startsWith(prefix) ? full.slice(prefix.length) : `/${full}`
    }
    commits.push({ commit, authorName, authorEmail, time: Number(seconds) * 1000, subject, path })
  }
  return commits
}

/** Parses commits, newest first, each begun by SOH: five fields, then pairs of `:mode mode object object status` and path. */
function fileRevisions(output: string, prefix: string): FileRevision[] {
  const found: FileRevision[] = []
  for (const record of output.split('\x01').slice(1)) {
    const [commit = '', authorName = '', authorEmail = '', seconds, subject = '', ...changes] =
      record.split('\0')
    for (let at = 0; at + 1 < changes.length; at += 2) {
      const object = changes[at]!.trim().split(' ')[3] ?? ''
      const path = changes[at + 1]!
      if (/^0*$/.test(object) || !path.startsWith(prefix)) continue
      const time = Number(seconds) * 1000
      found.push({ commit, authorName, authorEmail, time, subject, path: path.slice(prefix.length), object })
    }
  }
  return found
}

function one(answer: Answer): string | undefined {
  return answer.ok ? text(answer.output).trim() || undefined : undefined
}

function text(bytes: Buffer | string): string {
  return bytes.toString('utf8')
}
