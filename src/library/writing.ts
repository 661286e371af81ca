/**
 * Writing templates back into the site (specification §9.6–9.8): restoring a version, a named version,
 * a private duplicate. One at a time; each is checked before it is written, written whole or not at all,
 * committed under the user's name where the site wants that, audited, and followed by a reload.
 */
import { posix } from 'node:path'
import { eventOf } from '../audit/event.ts'
import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import { systemManager, type Principal } from '../core/principal.ts'
import { mayChange } from './access.ts'
import { siteLine, type Channels } from './channels.ts'
import type { Library } from './library.ts'
import { writeFileOf, type WritingPlace } from './write-file.ts'
import { changedText, restoredText } from './template-text.ts'
import { isStatusStep } from './versions.ts'
import type { PromptStatus, PromptTemplate } from './words.ts'
import {
  changeableTemplate,
  requireGood,
  requireOwn,
  withLineEndsOf,
  type TemplateWork,
} from './writing-rules.ts'

/** What writing needs. */
export interface WritingParts extends WritingPlace {
  readonly library: () => Channels
  readonly audit: Audit
  /** Reads the site again, so that what was written is there when the caller is answered. */
  readonly reload: () => Promise<unknown>
}

/** What was written. */
export interface WrittenPrompt {
  readonly prompt_id: string
  /** Relative to the site. */
  readonly file: string
  readonly commit: string | null
  /** What the file would hold, where it was only to be shown. */
  readonly text?: string
}

/** What somebody made of a template's file. */
export interface Edit {
  readonly text: string
  /** `fileDigest` of the file that they began with. */
  readonly began: string
  /** What they say of it, in a line. */
  readonly note: string
}

/** One kind of change: what the audit log calls it, and which line of the library it is made in. */
interface Change {
  readonly event: string
  readonly line: string | undefined
}

/** Writes templates into one site: into its working tree, or onto the branch of a channel. */
export class PromptWriter {
  private readonly parts: WritingParts
  private readonly isShown: boolean
  private last: Promise<unknown> = Promise.resolve()

  /** With `isShown`, everything is checked and answered, and nothing is written. */
  constructor(parts: WritingParts, isShown = false) {
    this.parts = parts
    this.isShown = isShown
  }

  /** The same where nothing is written. */
  showing(): PromptWriter {
    return new PromptWriter(this.parts, true)
  }

  /** Puts content, engine and arguments of an older version back into the template's file. */
  restore(principal: Principal, id: string, number: number, line?: string): Promise<WrittenPrompt> {
    return this.inTurn(principal, { event: 'prompt.restore', line }, async (library) => {
      const { template, read, began } = changeableTemplate(principal, library, id)
      // Unless told, the numbers are those that the principal sees, whose channel may stand on another branch.
      const seen = line === undefined ? this.parts.library().for(principal) : library
      const version = await seen.line.version(id, number)
      return {
        id,
        file: template.file,
        text: restoredText(template.file, read.document.bytes, version.source),
        began,
        message: `prompts: restore version ${number} of ${id}`,
        data: { version: number, from: template.version },
      }
    })
  }

  /** Puts what somebody made of a template in its place; AppError `conflict` when another did so meanwhile. */
  edit(principal: Principal, id: string, edit: Edit, line?: string): Promise<WrittenPrompt> {
    return this.inTurn(principal, { event: 'prompt.edit', line }, (library) => {
      const { template, read } = changeableTemplate(principal, library, id)
      return {
        id,
        file: template.file,
        text: withLineEndsOf(read.document.bytes, edit.text),
        began: edit.began,
        message: `prompts: ${edit.note === '' ? 'edit' : edit.note} (${id})`,
        data: { from: template.version },
        admit: (now) => requireOwn(principal, now, template),
      }
    })
  }

  /** Makes a template of a text that somebody wrote. */
  create(
    principal: Principal,
    id: string,
    { text, note }: Pick<Edit, 'text' | 'note'>,
    line?: string,
  ): Promise<WrittenPrompt> {
    return this.inTurn(principal, { event: 'prompt.create', line }, () => ({
      id,
      file: `${folderOf(principal)}/${id}.md`,
      text: text.replaceAll('\r\n', '\n'),
      began: undefined,
      message: `prompts: ${note === '' ? 'create' : note} (${id})`,
      data: {},
      admit: (now) => requireOwn(principal, now, undefined),
    }))
  }

  /** Publishes a template, or takes it back. */
  setStatus(principal: Principal, id: string, status: PromptStatus, line?: string): Promise<WrittenPrompt> {
    return this.inTurn(principal, { event: 'prompt.status', line }, (library) => {
      const { template, read, began } = changeableTemplate(principal, library, id)
      if (!isStatusStep(template.status, status))
        throw new AppError('invalid', `"${id}" is ${template.status} and cannot become ${status}`)
      return {
        id,
        file: template.file,
        text: changedText(template.file, read.document.bytes, { status }),
        began,
        message: `prompts: ${id} is ${status}`,
        data: { from: template.status, to: status },
      }
    })
  }

  /** Makes a copy under the id with the next free suffix `_v2`, `_v3`, …, as a draft of the principal's. */
  createVersion(principal: Principal, id: string, notes: string, line?: string): Promise<WrittenPrompt> {
    return this.inTurn(principal, { event: 'prompt.version', line }, () => {
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
        message: `prompts: ${base}_v${number}, a version of ${id}`,
        data: { of: id },
      })
    })
  }

  /** Makes a private draft of any template that the principal sees, for the principal alone. */
  duplicate(principal: Principal, id: string, line?: string): Promise<WrittenPrompt> {
    return this.inTurn(principal, { event: 'prompt.duplicate', line }, () => {
      const template = this.parts.library().for(principal).prompt(principal, id)
      if (!isPerson(principal)) throw new AppError('invalid', 'a private duplicate is for a user; name one')
      const person = nameOf(principal)
      const base = `${id}_copy_${person}`.slice(0, 130)
      const numbered = (count: number): string => (count === 1 ? base : `${base}_${count}`)
      const copyId = numbered(this.firstFree(numbered, 1))
      return this.copy(principal, template, copyId, ownFolderOf(principal), {
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

  private copy(
    principal: Principal,
    template: PromptTemplate,
    id: string,
    folder: string,
    work: Pick<TemplateWork, 'message' | 'data'> & { readonly front: Readonly<Record<string, unknown>> },
  ): TemplateWork {
    const { document } = this.parts.library().for(principal).read(template.id)
    const extension = posix.extname(document.file)
    const text = changedText(document.file, document.bytes, {
      ...work.front,
      prompt_id: id,
      status: 'Draft',
      owner: isPerson(principal) ? principal.user : template.owner || undefined,
      is_system: undefined,
    })
    const { message, data } = work
    return { id, file: `${folder}/${id}${extension}`, text, began: undefined, message, data }
  }

  /** The first count whose id no line of the library has. */
  private firstFree(idOf: (count: number) => string, from: number): number {
    const lines = [...this.parts.library().all().values()]
    let count = from
    while (lines.some((library) => library.templates.has(idOf(count)))) count++
    return count
  }

  private inTurn(
    principal: Principal,
    change: Change,
    plan: (library: Library) => TemplateWork | Promise<TemplateWork>,
  ): Promise<WrittenPrompt> {
    const turn = this.last.then(() => this.write(principal, change, plan))
    this.last = turn.catch(() => undefined)
    return turn
  }

  private async write(
    principal: Principal,
    { event, line = siteLine }: Change,
    plan: (library: Library) => TemplateWork | Promise<TemplateWork>,
  ): Promise<WrittenPrompt> {
    const { audit } = this.parts
    if (principal.readOnly)
      throw new AppError('forbidden', 'the user allowed this client to read only; it may not write prompts')
    audit.requireWritable()
    const library = this.parts.library().all().get(line)
    const branch = library?.lineage.branch
    if (!library || (line !== siteLine && branch === undefined))
      throw new AppError('not_found', `there is no channel "${line}" that stands on a branch`)
    const work = await plan(library)
    const bytes = Buffer.from(work.text)
    requireGood(principal, library, work, bytes)
    const written = { prompt_id: work.id, file: work.file }
    if (this.isShown) return { ...written, commit: null, text: work.text }
    const commit = await writeFileOf(this.parts, principal, { work, bytes, branch })
    await audit.record(
      eventOf(principal, {
        type: event,
        status: 'ok',
        target: work.id,
        data: { ...work.data, file: work.file, ...(branch && { branch }), ...(commit && { commit }) },
      }),
    )
    await this.parts.reload()
    return { ...written, commit: commit ?? null }
  }
}

/** Where new templates of a person stand. */
export function folderOf(principal: Principal): string {
  return principal.roles.has(systemManager) ? 'prompts' : ownFolderOf(principal)
}

function ownFolderOf(principal: Principal): string {
  return `prompts/users/${nameOf(principal)}`
}

function nameOf(principal: Principal): string {
  return principal.user
    .split('@')[0]!
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
}

/** The operator of the command line is nobody who could own a template. */
function isPerson(principal: Principal): boolean {
  return principal.user.includes('@')
}
