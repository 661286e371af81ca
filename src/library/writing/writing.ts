/**
 * Writes templates back into the site (specification §9.6–9.8): restores a version, makes a named version or
 * a private duplicate. One write at a time; each is checked first, written whole or not at all, committed
 * under the user's name where the site wants that, audited, and followed by a reload.
 */
import { posix } from 'node:path'
import { type Audit, eventOf, refusalOf } from '#audit/audit.ts'
import { AppError, tooMany } from '#leaf/errors.ts'
import type { RefusalOf } from '../../core/effects.ts'
import type { Principal } from '../../core/principal.ts'
import type { Soon } from '#leaf/soon.ts'
import { mayChange, requireEffect } from '../access.ts'
import { siteLine, type Channels } from '../versions/channels.ts'
import type { Library } from '../library.ts'
import { writeFileOf, type WritingPlace } from './write-file.ts'
import { folderOf, folderOfPerson, isOwnName, isPerson, promptNameFor, templateId } from './own-names.ts'
import { changedText, restoredText } from '../prompts/template-text.ts'
import { isStatusStep } from '../versions/versions.ts'
import type { PromptTemplate } from '../words.ts'
import {
  changeableTemplate,
  type DraftBounds,
  requireGood,
  requireOwn,
  requireRoom,
  withLineEndsOf,
  type TemplateWork,
} from './writing-rules.ts'

/** The dependencies of writing. */
export interface WritingParts extends WritingPlace {
  readonly library: () => Channels
  readonly audit: Audit
  readonly refusalOf: RefusalOf
  /** Returns the seconds until the principal may write again: 0 for now. */
  readonly secondsToWait: (principal: Principal) => Soon<number>
  readonly bounds: () => DraftBounds
  /** Reads the site again, so that what was written is there when the caller is answered. */
  readonly reload: () => Promise<unknown>
}

/** The result of a write. */
export interface WrittenPrompt {
  readonly prompt_id: string
  /** Relative to the site. */
  readonly file: string
  readonly commit: string | null
  /** The new content of the file, when it was only to be shown. */
  readonly text?: string
}

/** An edit of a template's file. */
export interface Edit {
  readonly text: string
  /** The `fileDigest` of the file that the author began with. */
  readonly began: string
  /** The author's description of it, in a line. */
  readonly note: string
}

/** One change: its type in the audit log, its template, and the line of the library that it is made in. */
interface Change {
  readonly event: string
  readonly target: string
  readonly line: string | undefined
}

/** Writes templates of one site: into its working tree, or onto the branch of a channel. */
export class PromptWriter {
  readonly #parts: WritingParts
  readonly #isShown: boolean
  #last: Promise<unknown> = Promise.resolve()

  /** With `isShown`, everything is checked and answered, and nothing is written. */
  constructor(parts: WritingParts, isShown = false) {
    this.#parts = parts
    this.#isShown = isShown
  }

  /** Returns a writer that only shows the result. */
  showing(): PromptWriter {
    return new PromptWriter(this.#parts, true)
  }

  /** Restores content, engine and arguments of an older version in the template's file. */
  restore(principal: Principal, id: string, number: number, line?: string): Promise<WrittenPrompt> {
    return this.#inTurn(principal, { event: 'prompt.restore', target: id, line }, async (library) => {
      const { template, read, began } = changeableTemplate(principal, library, id)
      // By default, numbers are those that the principal sees, whose channel may stand on another branch.
      const seen = line === undefined ? this.#parts.library().for(principal) : library
      const version = await seen.line.version(seen.prompt(principal, id).id, number)
      return {
        id: template.id,
        file: template.file,
        text: restoredText(template.file, read.document.bytes, version.source),
        began,
        message: `prompts: restore version ${number} of ${id}`,
        data: { version: number, from: template.version },
      }
    })
  }

  /** Writes an edit of a template; AppError `conflict` when the file was changed meanwhile. */
  edit(principal: Principal, id: string, edit: Edit, line?: string): Promise<WrittenPrompt> {
    return this.#inTurn(principal, { event: 'prompt.edit', target: id, line }, (library) => {
      const { template, read } = changeableTemplate(principal, library, id)
      return {
        id: template.id,
        file: template.file,
        text: withLineEndsOf(read.document.bytes, edit.text),
        began: edit.began,
        message: `prompts: ${edit.note === '' ? 'edit' : edit.note} (${id})`,
        data: { from: template.version },
        admit: (now) => requireOwn(principal, now, template),
      }
    })
  }

  /** Creates a template from a text. */
  create(
    principal: Principal,
    id: string,
    { text, note }: Pick<Edit, 'text' | 'note'>,
    line?: string,
  ): Promise<WrittenPrompt> {
    const file = `${folderOf(principal)}/${id}.md`
    return this.#inTurn(principal, { event: 'prompt.create', target: id, line }, () => ({
      id: templateId(file, principal.user, id),
      file,
      text: text.replaceAll('\r\n', '\n'),
      began: undefined,
      message: `prompts: ${note === '' ? 'create' : note} (${id})`,
      data: {},
      admit: (now) => requireOwn(principal, now, undefined),
    }))
  }

  /** Publishes a template, or changes its status otherwise. */
  setStatus(principal: Principal, id: string, status: string, line?: string): Promise<WrittenPrompt> {
    return this.#inTurn(principal, { event: 'prompt.status', target: id, line }, (library) => {
      const { template, read, began } = changeableTemplate(principal, library, id)
      if (!isStatusStep(template.status, status))
        throw new AppError('invalid', `"${id}" is ${template.status} and cannot become ${status}`)
      return {
        id: template.id,
        file: template.file,
        text: changedText(template.file, read.document.bytes, { status }),
        began,
        message: `prompts: ${id} is ${status}`,
        data: { from: template.status, to: status },
      }
    })
  }

  /** Copies a template under its id with the next free suffix `_v2`, `_v3`, …, as a draft of the principal's. */
  createVersion(principal: Principal, id: string, notes: string, line?: string): Promise<WrittenPrompt> {
    return this.#inTurn(principal, { event: 'prompt.version', target: id, line }, () => {
      const template = this.#parts.library().for(principal).prompt(principal, id)
      if (!mayChange(principal, template)) {
        throw new AppError(
          'forbidden',
          `only its owner or a System Manager makes named versions of "${id}"; duplicate it`,
        )
      }
      const base = template.name.replace(/_v\d+$/, '')
      const number = this.#firstFree(principal, (count) => `${base}_v${count}`, 2)
      const isOwn = isOwnName(template) && isPerson(principal)
      const folder = template.isSystem ? 'prompts' : posix.dirname(template.file)
      return this.#copy(
        principal,
        template,
        `${base}_v${number}`,
        isOwn ? folderOfPerson(principal.user) : folder,
        {
          front: {
            title: `${template.title.replace(/ \(v\d+\)$/, '')} (v${number})`,
            parent_version: id,
            version_notes: notes === '' ? undefined : notes,
          },
          message: `prompts: ${base}_v${number}, a version of ${id}`,
          data: { of: id },
        },
      )
    })
  }

  /** Copies any template that the principal sees into a private draft, for the principal alone. */
  duplicate(principal: Principal, id: string, line?: string): Promise<WrittenPrompt> {
    return this.#inTurn(principal, { event: 'prompt.duplicate', target: id, line }, () => {
      const template = this.#parts.library().for(principal).prompt(principal, id)
      if (!isPerson(principal)) throw new AppError('invalid', 'a private duplicate is for a user; name one')
      const person = nameOf(principal)
      const base = `${template.name}_copy_${person}`.slice(0, 130)
      const numbered = (count: number): string => (count === 1 ? base : `${base}_${count}`)
      const copyId = numbered(this.#firstFree(principal, numbered, 1))
      return this.#copy(principal, template, copyId, folderOfPerson(principal.user), {
        front: {
          title: `${template.title} (My Copy)`,
          visibility: 'Private',
          shared_with_roles: undefined,
          parent_version: id,
          version_notes: undefined,
        },
        message: `prompts: ${copyId}, a private copy of ${id}`,
        data: { of: id },
      })
    })
  }

  #copy(
    principal: Principal,
    template: PromptTemplate,
    name: string,
    folder: string,
    work: Pick<TemplateWork, 'message' | 'data'> & { readonly front: Readonly<Record<string, unknown>> },
  ): TemplateWork {
    const { document } = this.#parts.library().for(principal).read(template.id)
    const extension = posix.extname(document.file)
    const owner = isPerson(principal) ? principal.user : template.owner
    const text = changedText(document.file, document.bytes, {
      ...work.front,
      prompt_id: name,
      status: 'Draft',
      owner: owner || undefined,
      is_system: undefined,
    })
    const { message, data } = work
    const file = `${folder}/${name}${extension}`
    return { id: templateId(file, owner, name), file, text, began: undefined, message, data }
  }

  /** Returns the first count whose name is free for the principal in every line of the library. */
  #firstFree({ user }: Principal, nameOf: (count: number) => string, from: number): number {
    const lines = [...this.#parts.library().all().values()]
    let count = from
    while (lines.some((library) => library.find(user, nameOf(count)))) count++
    return count
  }

  async #inTurn(
    principal: Principal,
    change: Change,
    plan: (library: Library) => TemplateWork | Promise<TemplateWork>,
  ): Promise<WrittenPrompt> {
    try {
      const wait = isPerson(principal) ? await this.#parts.secondsToWait(principal) : 0
      if (wait > 0) throw tooMany(wait)
      const turn = this.#last.then(() => this.#write(principal, change, plan))
      this.#last = turn.catch(() => undefined)
      return await turn
    } catch (error) {
      if (error instanceof AppError) {
        const event = { type: change.event, target: change.target.slice(0, 200), ...refusalOf(error) }
        await this.#parts.audit.record(eventOf(principal, event))
      }
      throw error
    }
  }

  async #write(
    principal: Principal,
    { event, line = siteLine }: Change,
    plan: (library: Library) => TemplateWork | Promise<TemplateWork>,
  ): Promise<WrittenPrompt> {
    const { audit } = this.#parts
    requireEffect(this.#parts.refusalOf, principal, 'write_prompts')
    audit.requireWritable()
    const library = this.#parts.library().all().get(line)
    const branch = library?.lineage.branch
    if (!library || (line !== siteLine && branch === undefined))
      throw new AppError('not_found', `there is no channel "${line}" that stands on a branch`)
    const work = await plan(library)
    const bytes = Buffer.from(work.text)
    const read = await requireGood(principal, library, work, bytes)
    requireRoom(this.#parts.library(), read, this.#parts.bounds())
    const written = { prompt_id: promptNameFor(principal, read.template), file: work.file }
    if (this.#isShown) return { ...written, commit: null, text: work.text }
    const commit = await writeFileOf(this.#parts, principal, { work, bytes, branch })
    await audit.record(
      eventOf(principal, {
        type: event,
        status: 'ok',
        target: work.id,
        data: { ...work.data, file: work.file, ...(branch && { branch }), ...(commit && { commit }) },
      }),
    )
    await this.#parts.reload()
    return { ...written, commit: commit ?? null }
  }
}

function nameOf(principal: Principal): string {
  return principal.user
    .split('@')[0]!
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
}
