/**
 * Writing templates back into the site (specification §9.6–9.8): restoring a version, a named version,
 * a private duplicate. One at a time; each is checked before it is written, written whole or not at all,
 * committed under the user's name where the site wants that, audited, and followed by a reload.
 */
import { posix } from 'node:path'
import { actorOf } from '../audit/event.ts'
import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { openRepository } from '../site/git.ts'
import { parseSource } from '../site/parse-source.ts'
import { faultText, type Fault } from '../site/site-files.ts'
import { mayChange } from './access.ts'
import type { PromptTemplate } from './words.ts'
import type { Channels } from './channels.ts'
import { replaceSiteFile, type Replaced } from './site-file.ts'
import { readTemplate } from './template-file.ts'
import { changedText, restoredText } from './template-text.ts'

/** What writing needs. */
export interface WritingParts {
  /** Absolute path of the site. */
  readonly folder: string
  readonly library: () => Channels
  readonly audit: Audit
  /** The setting `git.commit`. */
  readonly commits: () => boolean
  /** Reads the site again, so that what was written is there when the caller is answered. */
  readonly reload: () => Promise<unknown>
}

/** What was written. */
export interface WrittenPrompt {
  readonly prompt_id: string
  /** Relative to the site. */
  readonly file: string
  readonly commit: string | null
}

interface Work {
  readonly id: string
  readonly file: string
  readonly text: string
  /** Whether the file must not exist yet. */
  readonly isNew: boolean
  readonly event: string
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Writes templates into one site. */
export class PromptWriter {
  private readonly parts: WritingParts
  private last: Promise<unknown> = Promise.resolve()

  constructor(parts: WritingParts) {
    this.parts = parts
  }

  /** Puts content, engine and arguments of an older version back into the template's file. */
  restore(principal: Principal, id: string, number: number): Promise<WrittenPrompt> {
    return this.inTurn(principal, async () => {
      const library = this.parts.library().site
      const template = library.prompt(principal, id)
      requireChangeable(principal, template)
      // The numbers are those that the principal sees, whose channel may stand on another branch.
      const version = await this.parts.library().for(principal).line.version(id, number)
      const text = restoredText(template.file, library.read(id).document.bytes, version.source)
      return {
        id,
        file: template.file,
        text,
        isNew: false,
        event: 'prompt.restore',
        message: `prompts: restore version ${number} of ${id}`,
        data: { version: number, from: template.version },
      }
    })
  }

  /** Makes a copy under the id with the next free suffix `_v2`, `_v3`, …, as a draft of the principal's. */
  createVersion(principal: Principal, id: string, notes: string): Promise<WrittenPrompt> {
    return this.inTurn(principal, () => {
      const template = this.parts.library().for(principal).prompt(principal, id)
      if (!mayChange(principal, template)) {
        throw new AppError(
          'forbidden',
          `only its owner or a System Manager makes named versions of "${id}"; duplicate it`,
        )
      }
      const base = id.replace(/_v\d+$/, '')
      const number = this.firstFree((count) => `${base}_v${count}`, 2)
      const folder = template.isSystem ? 'prompts' : posix.dirname(template.file)
      return this.copy(principal, template, `${base}_v${number}`, folder, {
        front: {
          title: `${template.title.replace(/ \(v\d+\)$/, '')} (v${number})`,
          parent_version: id,
          version_notes: notes === '' ? undefined : notes,
        },
        event: 'prompt.version',
        message: `prompts: ${base}_v${number}, a version of ${id}`,
        data: { of: id },
      })
    })
  }

  /** Makes a private draft of any template that the principal sees, for the principal alone. */
  duplicate(principal: Principal, id: string): Promise<WrittenPrompt> {
    return this.inTurn(principal, () => {
      const template = this.parts.library().for(principal).prompt(principal, id)
      if (!isPerson(principal)) throw new AppError('invalid', 'a private duplicate is for a user; name one')
      const person = principal.user
        .split('@')[0]!
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '_')
      const base = `${id}_copy_${person}`.slice(0, 130)
      const numbered = (count: number): string => (count === 1 ? base : `${base}_${count}`)
      const copyId = numbered(this.firstFree(numbered, 1))
      return this.copy(principal, template, copyId, `prompts/users/${person}`, {
        front: {
          title: `${template.title} (My Copy)`,
          visibility: 'Private',
          shared_with_roles: undefined,
          parent_version: id,
          version_notes: undefined,
        },
        event: 'prompt.duplicate',
        message: `prompts: ${copyId}, a private copy of ${id}`,
        data: { of: id },
      })
    })
  }

  private copy(
    principal: Principal,
    template: PromptTemplate,
    id: string,
    folder: string,
    work: Pick<Work, 'event' | 'message' | 'data'> & { readonly front: Readonly<Record<string, unknown>> },
  ): Promise<Work> {
    const { document } = this.parts.library().for(principal).read(template.id)
    const extension = posix.extname(document.file)
    const text = changedText(document.file, document.bytes, {
      ...work.front,
      prompt_id: id,
      status: 'Draft',
      owner: isPerson(principal) ? principal.user : template.owner || undefined,
      is_system: undefined,
    })
    const { event, message, data } = work
    return Promise.resolve({
      id,
      file: `${folder}/${id}${extension}`,
      text,
      isNew: true,
      event,
      message,
      data,
    })
  }

  /** The first count whose id no line of the library has. */
  private firstFree(idOf: (count: number) => string, from: number): number {
    const lines = [...this.parts.library().all().values()]
    let count = from
    while (lines.some((library) => library.templates.has(idOf(count)))) count++
    return count
  }

  private inTurn(principal: Principal, plan: () => Promise<Work>): Promise<WrittenPrompt> {
    const turn = this.last.then(() => this.write(principal, plan))
    this.last = turn.catch(() => undefined)
    return turn
  }

  private async write(principal: Principal, plan: () => Promise<Work>): Promise<WrittenPrompt> {
    if (principal.readOnly)
      throw new AppError('forbidden', 'the user allowed this client to read only; it may not write prompts')
    this.parts.audit.requireWritable()
    const work = await plan()
    const bytes = Buffer.from(work.text)
    requireReadable(work.file, bytes)
    const replaced = await replaceSiteFile(this.parts.folder, work.file, bytes, work.isNew ? 'new' : 'old')
    const commit = this.parts.commits() ? await this.commit(principal, work, replaced) : undefined
    await this.parts.audit.record({
      ...actorOf(principal),
      type: work.event,
      status: 'ok',
      target: work.id,
      data: { ...work.data, file: work.file, ...(commit !== undefined && { commit }) },
    })
    await this.parts.reload()
    return { prompt_id: work.id, file: work.file, commit: commit ?? null }
  }

  private async commit(principal: Principal, work: Work, replaced: Replaced): Promise<string | undefined> {
    try {
      const repository = await openRepository(this.parts.folder)
      if (!repository)
        throw new AppError(
          'conflict',
          'the setting git.commit is on, but the site is not in a git repository',
        )
      return await repository.commit({
        paths: [work.file],
        message: work.message,
        authorName: principal.fullName,
        authorEmail: principal.user,
      })
    } catch (error) {
      await replaced.undo()
      throw error
    }
  }
}

/** The operator of the command line is nobody who could own a template. */
function isPerson(principal: Principal): boolean {
  return principal.user.includes('@')
}

function requireChangeable(principal: Principal, template: PromptTemplate): void {
  if (template.isSystem) {
    throw new AppError('forbidden', `"${template.id}" is built in and cannot be changed; duplicate it`)
  }
  if (!mayChange(principal, template)) {
    throw new AppError('forbidden', `only its owner or a System Manager may change "${template.id}"`)
  }
}

/** What is about to be written must be a good template. */
function requireReadable(file: string, bytes: Uint8Array): void {
  const { document, faults: found } = parseSource(file, bytes)
  const faults: Fault[] = [...found]
  if (document) readTemplate(document, faults)
  if (faults.length > 0) {
    throw new AppError(
      'invalid',
      `the result would not be a good template: ${faults.map(faultText).join('; ')}`,
    )
  }
}
