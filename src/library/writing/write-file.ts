/** Writes a file of the site: in the working tree, committed where the site wants that, or on a branch not checked out. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { openRepository, type Repository } from '#site/git.ts'
import { replaceSiteFile } from './site-file.ts'
import { requireBegan, type TemplateWork } from './writing-rules.ts'

/** The place where files are written. */
export interface WritingPlace {
  /** Absolute path of the site. */
  readonly folder: string
  /** The setting `git.commit`. */
  readonly commits: () => boolean
  /** True when the site comes from elsewhere (`site.git`): files written here would block the next pull. */
  readonly isPulled: () => boolean
}

/** Writes the file whole or not at all; returns the commit, if one was made in the principal's name. */
export async function writeFileOf(
  { folder, commits, isPulled }: WritingPlace,
  { fullName: authorName, user: authorEmail }: Pick<Principal, 'fullName' | 'user'>,
  {
    work,
    bytes,
    branch,
  }: {
    readonly work: Pick<TemplateWork, 'file' | 'message' | 'began'>
    readonly bytes: Uint8Array
    readonly branch: string | undefined
  },
): Promise<string | undefined> {
  const { file, message, began } = work
  if (isPulled())
    throw new AppError(
      'forbidden',
      `the site is read-only: it is pulled from a git repository (site.git); change ${file} there`,
    )
  const request = { paths: [file], message, authorName, authorEmail }
  if (branch !== undefined) {
    if (!commits())
      throw new AppError('forbidden', 'the setting git.commit is off, and a branch is written to by a commit')
    const repository = await repositoryAt(folder)
    const head = await repository.resolve(`refs/heads/${branch}`)
    if (head === undefined) throw new AppError('conflict', `there is no branch "${branch}" any more`)
    const present = await repository.contentAt(file, head)
    if (began !== undefined) requireBegan(work, present)
    else if (present) throw new AppError('conflict', `${file} exists already`)
    return repository.commit({ ...request, onto: { branch, head, contents: new Map([[file, bytes]]) } })
  }
  if (began !== undefined) requireBegan(work, await readFile(join(folder, file)).catch(() => undefined))
  const replaced = await replaceSiteFile(folder, file, bytes, began === undefined ? 'new' : 'old')
  if (!commits()) return undefined
  try {
    return await (await repositoryAt(folder)).commit(request)
  } catch (error) {
    await replaced.undo()
    throw error
  }
}

async function repositoryAt(folder: string): Promise<Repository> {
  const repository = await openRepository(folder)
  if (repository) return repository
  throw new AppError('conflict', 'the setting git.commit is on, but the site is not in a git repository')
}
