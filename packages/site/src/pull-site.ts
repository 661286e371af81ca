/**
 * Pulls the site: fetched files are checked inside git's objects, and only then checked out, forward along
 * the history. Local changes and commits are never touched, and an interrupted checkout is finished.
 */
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, systemClock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { fetchMilliseconds, fetchSite, isLocked, type PullSource } from './fetch-site.ts'
import { openRepository, type Repository, treeFiles } from './repository.ts'
import { exists, isIgnoredName, listSite, siteFolders } from './list-site.ts'
import { readSiteAt } from './read-site-at.ts'
import { siteLimits } from './read-site.ts'
import { type GitAnswer, runGit } from './run-git.ts'
import { faultText, type Fault, type SiteFiles } from './site-files.ts'

/** The result of a pull. */
export interface Pulled {
  /** `refused`: the checkout stays as it is, for the reason in `problem`. */
  readonly outcome: 'same' | 'pulled' | 'refused'
  /** The commit that is checked out now. */
  readonly commit: string | undefined
  /** The commit that the ref stands on, if it is known. */
  readonly seen: string | undefined
  /** The reason why the two differ; empty when they are the same. */
  readonly problem: string
  /** The faults in the tree of `seen`, as `commit:file:line:column …`. */
  readonly faults: readonly string[]
}

export interface PullParts {
  /** Returns the faults of a site that is not in use yet. */
  readonly check: (files: SiteFiles) => Promise<readonly Fault[]>
  readonly signal: AbortSignal
  /** Milliseconds that fetching may take. */
  readonly milliseconds?: number
  /** The result of the previous pull: faults of the same commit are not searched for again. */
  readonly before?: Pulled | undefined
}

// These refs belong to this working tree alone, should the repository have several.
const ours = 'refs/worktree/assistant-core'
const fetched = `${ours}/fetched`
/** The commit pulled last, which tells commits made here from those that the ref has lost. */
const pulled = `${ours}/pulled`
/** The commit that is being checked out; the ref exists only as long as that takes. */
const pending = `${ours}/pending`

const checkoutMilliseconds = 60_000
const lockAttempts = 10
const lockMilliseconds = 200
/** The age in milliseconds after which a lock counts as left behind by a crash. */
const staleMilliseconds = 60_000
const shownPaths = 5
const shownFaults = 50

/** Moves the folder's checkout to the remote ref. Never fails: an obstacle is reported in the result. */
export async function pullSite(folder: string, source: PullSource, parts: PullParts): Promise<Pulled> {
  const repository = await openRepository(folder)
  const commit = await repository?.head()
  const refused = (problem: string, seen?: string, faults: readonly string[] = []): Pulled => {
    return { outcome: 'refused', commit, seen, problem, faults }
  }
  if (!repository || commit === undefined)
    return refused('the site is not in a git repository that has a commit; clone it there')
  const { signal, milliseconds = fetchMilliseconds } = parts
  const got = await patiently(() => fetchSite(folder, source, fetched, { signal, milliseconds }))
  if (!got.ok) return refused(`${source.ref} of ${source.url} could not be fetched: ${got.problem}`)
  const seen = await repository.resolve(fetched)
  if (seen === undefined) return refused(`${source.ref} of ${source.url} is not a commit`)
  const same = { outcome: 'same', commit: seen, seen, problem: '', faults: [] } as const
  if (seen === commit) return same
  if (parts.before?.seen === seen && parts.before.faults.length > 0)
    return refused(parts.before.problem, seen, parts.before.faults)
  const local = await lastingWork(repository, folder, [commit, seen, source.ref])
  if (local !== undefined) return refused(local, seen)
  const faults = await faultsAt(folder, seen, parts.check)
  if (faults.length > 0)
    return refused(`commit ${seen.slice(0, 12)} has faults; it is not checked out`, seen, faults)
  const done = await patiently(async () =>
    (await repository.head()) === seen ? { ok: true, problem: '' } : await checkOut(folder, commit, seen),
  )
  return done.ok
    ? { ...same, outcome: 'pulled' }
    : refused(`it could not be checked out: ${done.problem}`, seen)
}

/**
 * Turns an empty folder, or one that holds only `config/settings.yaml` of a site, into a checkout of the
 * repository. AppError `unavailable`, or `invalid` when the site there has faults: the folder is then as before.
 */
export async function cloneSite(
  folder: string,
  source: PullSource,
  check: PullParts['check'],
): Promise<string> {
  await mkdir(folder, { recursive: true })
  if (!(await exists(join(folder, '.git')))) await run(folder, ['init', '--quiet', '--initial-branch=pulled'])
  const { signal } = new AbortController()
  const got = await fetchSite(folder, source, fetched, { signal, milliseconds: 10 * fetchMilliseconds })
  const from = `${source.ref} of ${source.url}`
  if (!got.ok) throw new AppError('unavailable', `${from} could not be cloned: ${got.problem}`)
  const commit = await run(folder, ['rev-parse', '--verify', `${fetched}^{commit}`])
  const faults = await faultsAt(folder, commit, check)
  if (faults.length > 0)
    throw new AppError('invalid', `${from} is not cloned, since it has faults:\n  ${faults.join('\n  ')}`)
  const settings = join(folder, 'config/settings.yaml')
  // The repository's file takes its place; the new name is one that a site ignores.
  if (await exists(settings)) await rename(settings, `${settings}.orig`)
  const done = await checkOut(folder, undefined, commit)
  if (!done.ok) throw new AppError('unavailable', `${from} could not be checked out: ${done.problem}`)
  return commit
}

/** True when the folder holds nothing of a site yet, except the settings that say where it comes from. */
export async function isEmptySite(folder: string): Promise<boolean> {
  const repository = await openRepository(folder)
  // The repository of a folder above does not count.
  if ((await exists(join(folder, '.git'))) && (await repository?.head()) !== undefined) return false
  const { files } = await listSite(folder)
  return files.every(({ path }) => path === 'config/settings.yaml')
}

/** True when the site in a folder was once pulled. */
export async function wasPulled(folder: string): Promise<boolean> {
  return await exists(join(folder, '.git', pulled))
}

/** Returns the commit whose checkout a crash interrupted: the files are then no complete site. */
export async function unfinishedCheckout(folder: string): Promise<string | undefined> {
  return await (await openRepository(folder))?.resolve(pending)
}

/** Finishes a checkout that a crash interrupted; returns the commit that is now checked out, if there was one. */
export async function finishCheckout(
  folder: string,
  clock: Clock = systemClock,
): Promise<string | undefined> {
  const repository = await openRepository(folder)
  const commit = await repository?.resolve(pending)
  if (!repository || commit === undefined) return undefined
  const lock = await stat(repository.lockFile).catch(() => undefined)
  // Another daemon on this folder may be working on it.
  if (lock && clock.now() - lock.mtimeMs < staleMilliseconds) return undefined
  if (lock) await rm(repository.lockFile, { force: true })
  const done = await moveTo(folder, ['--reset', '-u', commit], commit, await repository.head())
  return done.ok ? commit : undefined
}

/** Runs `localWork`, but ignores the checkout of another daemon: a half-done one looks like people's work. */
async function lastingWork(
  repository: Repository,
  folder: string,
  [commit, seen, ref]: readonly [commit: string, seen: string, ref: string],
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    const local = await localWork(folder, commit, seen, ref)
    if (local === undefined || attempt === lockAttempts) return local
    // The order matters: a checkout is over only after HEAD has moved.
    const moving = (await repository.resolve(pending)) !== undefined
    if (!moving) return (await repository.head()) === commit ? local : undefined
    await wait(lockMilliseconds)
  }
}

/** Returns why the checkout must stay: it holds people's work, or the ref does not continue it; undefined otherwise. */
async function localWork(
  folder: string,
  commit: string,
  seen: string,
  ref: string,
): Promise<string | undefined> {
  const isIn = async (older: string, newer: string): Promise<boolean> =>
    (await runGit(folder, ['merge-base', '--is-ancestor', older, newer])).ok
  const short = (name: string): string => name.slice(0, 12)
  if (!(await isIn(commit, seen))) {
    const last = await (await openRepository(folder))?.resolve(pulled)
    return last !== undefined && (await isIn(commit, last))
      ? `${ref} was rewritten: ${short(seen)} does not continue ${short(commit)}, which stays checked out; git reset --hard ${short(seen)} takes it over`
      : `there are commits here that ${ref} does not have, such as ${short(commit)}; push them, or git reset --hard ${short(seen)}`
  }
  const listed = await runGit(
    folder,
    ['status', '--porcelain=v1', '-z', '--untracked-files=all', '--no-renames', '--', ...siteFolders],
    { settings: await withoutFilters(folder) },
  )
  if (!listed.ok) return `git cannot say what was changed here: ${listed.problem}`
  const paths = listed.output
    .toString('utf8')
    .split('\0')
    .map((entry) => entry.slice(3))
    .filter((path) => path !== '' && !path.split('/').some(isIgnoredName))
  if (paths.length === 0) return undefined
  const more = paths.length > shownPaths ? ` and ${paths.length - shownPaths} more` : ''
  return `there are changes here that are not committed: ${paths.slice(0, shownPaths).join(', ')}${more}; git checkout or git stash --include-untracked`
}

async function faultsAt(
  folder: string,
  commit: string,
  check: PullParts['check'],
): Promise<readonly string[]> {
  const size = await sizeFault(folder, commit)
  const faults = size === undefined ? await check(await readSiteAt(folder, commit)) : []
  const shown = faults.slice(0, shownFaults).map((fault) => `${commit.slice(0, 12)}:${faultText(fault)}`)
  return size === undefined ? shown : [`${commit.slice(0, 12)}:${size}`]
}

/** Returns the fault of a tree that would fill the disk: the whole tree is checked out, not the site's folders alone. */
async function sizeFault(folder: string, commit: string): Promise<string | undefined> {
  const files = treeFiles((await runGit(folder, ['ls-tree', '-r', '-z', '-l', '--full-tree', commit])).output)
  const large = files.find(({ size }) => size > siteLimits.assetBytes)
  if (large)
    return `${large.path}:1:1 has ${large.size} bytes; the most for a file is ${siteLimits.assetBytes}`
  const total = files.reduce((sum, { size }) => sum + size, 0)
  return files.length > siteLimits.files || total > siteLimits.totalBytes
    ? `.:1:1 has ${files.length} files and ${total} bytes, which is too much for a site`
    : undefined
}

/** Moves files, index and HEAD from a commit to another; obstacles are found before anything is touched. */
async function checkOut(
  folder: string,
  from: string | undefined,
  to: string,
): Promise<Pick<GitAnswer, 'ok' | 'problem'>> {
  const trees = from === undefined ? [to] : [from, to]
  const trial = await runGit(folder, ['read-tree', '-n', '-m', '-u', ...trees], {
    settings: await withoutFilters(folder),
  })
  if (!trial.ok) return trial
  const begun = await runGit(folder, ['update-ref', pending, to])
  return begun.ok ? await moveTo(folder, ['-m', '-u', ...trees], to, from) : begun
}

async function moveTo(
  folder: string,
  how: readonly string[],
  to: string,
  from: string | undefined,
): Promise<Pick<GitAnswer, 'ok' | 'problem'>> {
  const settings = await withoutFilters(folder)
  const milliseconds = checkoutMilliseconds
  const moved = await runGit(folder, ['read-tree', ...how], { settings, milliseconds })
  if (!moved.ok) return moved
  const before = from ?? '0'.repeat(to.length)
  const told = await runGit(folder, ['update-ref', '-m', 'pulled by assistant-core', 'HEAD', to, before])
  if (!told.ok) return told
  await runGit(folder, ['update-ref', pulled, to])
  return await runGit(folder, ['update-ref', '-d', pending])
}

/** Returns settings that disable every program through which the repository would pass files. */
async function withoutFilters(folder: string): Promise<readonly string[]> {
  const found = await runGit(folder, ['config', '--name-only', '-z', '--get-regexp', String.raw`^filter\.`])
  return found.output
    .toString('utf8')
    .split('\0')
    .filter((key) => key !== '')
    .map((key) => `${key}=`)
}

/** Retries while another process holds git's locks: daemons may share a folder. */
async function patiently(
  work: () => Promise<Pick<GitAnswer, 'ok' | 'problem'>>,
): Promise<Pick<GitAnswer, 'ok' | 'problem'>> {
  for (let attempt = 1; ; attempt++) {
    const answer = await work()
    if (!isLocked(answer) || attempt === lockAttempts) return answer
    await wait(lockMilliseconds)
  }
}

async function run(folder: string, args: readonly string[]): Promise<string> {
  const answer = await runGit(folder, args)
  if (!answer.ok) throw new AppError('unavailable', `git: ${answer.problem}`)
  return answer.output.toString('utf8').trim()
}
