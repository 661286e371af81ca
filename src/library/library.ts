import { Remembered } from '#leaf/remembered.ts'
import { didYouMean, meantOrKnown, nearest } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import { systemManager, type Principal } from '../core/principal.ts'
import { mayGet } from './access.ts'
import { promptNameFor } from './writing/own-names.ts'
import { suggestions } from './prompts/argument-types.ts'
import { doctypeOfDoctypes, type PromptTemplate, type RenderedPrompt, type Skill } from './words.ts'
import type { LibraryReading } from './check-library.ts'
import type { Examined } from './read-library.ts'
import { indexPrompts, type PromptIndex } from './search.ts'
import { fitted, namesAny } from './prompts/lint.ts'
import { skillsWithout } from './skill-files.ts'
import { valuesFor, type ReadTemplate } from './prompts/template-file.ts'
import type { LibraryUsage } from './usage.ts'
import type { VersionLine } from './versions/versions.ts'
import { Views } from './views.ts'

/** Business data for arguments of type `link`: names of documents, as permissions allow. */
export interface LinkTargets {
  /** True when the principal may read documents of the doctype. */
  reads(principal: Principal, doctype: string): boolean
  /** True when the document exists and the principal may read it. */
  exists(principal: Principal, doctype: string, name: string): Promise<boolean>
  /** Finds names of documents that the principal may read and that begin with the typed text. */
  find(
    principal: Principal,
    doctype: string,
    typed: string,
    limit: number,
  ): Promise<{ values: readonly string[]; total: number }>
}

/** Returns the tools of this server that a principal is not offered; the same set object for the same offer. */
export type Lacks = (principal: Principal) => ReadonlySet<string>

/** The origin of a reading and the place it is written to; its templates have their version numbers already. */
export interface Lineage {
  readonly line: VersionLine
  /** Returns the commit that a template's file stands at, if it is committed. */
  readonly commitOf: (id: string) => string | undefined
  /** The branch that is written to instead of the working tree. */
  readonly branch?: string
  /** Checks a file of the library as if it had these bytes. */
  readonly examine: (file: string, bytes: Uint8Array) => Examined
}

type SkillViews = Views<Skill & { readonly digest: string }>

const mostCompletions = 100
const mostCompared = 1000

/** The prompt templates and skills of one reading; every method takes the principal first and hides what it may not see. */
export class Library {
  /** The whole reading, without access checks: for the operator's command line and for checks. */
  readonly reading: LibraryReading
  /** Every template with its version number, by prompt_id. */
  readonly templates: ReadonlyMap<string, PromptTemplate>
  /** Older versions of the templates. */
  readonly line: VersionLine
  readonly lineage: Lineage
  readonly #usage: LibraryUsage
  /** Business data of the same reading of the site. */
  readonly links: LinkTargets
  readonly #promptViews: Views<PromptTemplate>
  #searched: Promise<PromptIndex> | undefined
  readonly #lacks: Lacks
  /** Caches which shipped templates name a tool that is lacking, by set of lacking tools. */
  readonly #unfit = new Remembered<ReadonlySet<string>, boolean>()
  /** Caches the views of skills, by set of lacking tools and by roles. */
  readonly #skillViews = new Remembered<ReadonlySet<string>, SkillViews>()

  /** `templates` are those of the reading, with their version numbers. */
  constructor(
    reading: LibraryReading,
    templates: ReadonlyMap<string, PromptTemplate>,
    lineage: Lineage,
    {
      usage,
      links,
      lacks,
    }: { readonly usage: LibraryUsage; readonly links: LinkTargets; readonly lacks: Lacks },
  ) {
    this.reading = reading
    this.templates = templates
    this.line = lineage.line
    this.lineage = lineage
    this.#usage = usage
    this.links = links
    this.#promptViews = new Views(templates)
    this.#lacks = lacks
  }

  /** Returns what `prompts/list` shows, in a stable order. */
  prompts(principal: Principal): readonly PromptTemplate[] {
    return this.#promptViews.list(principal)
  }

  /** Returns everything that the principal can get; for System Managers this is more than lists show. */
  gettable(principal: Principal): readonly PromptTemplate[] {
    return principal.roles.has(systemManager) ? [...this.templates.values()] : this.prompts(principal)
  }

  /** Finds a template without an access check: the user's own by name, the one with the shared name, or any by its id. */
  find(user: string, name: string): PromptTemplate | undefined {
    return this.templates.get(`${user}:${name}`) ?? this.templates.get(this.reading.offered.get(name) ?? name)
  }

  /** Returns a template; AppError `not_found` when there is none or the principal may not get it. */
  prompt(principal: Principal, name: string): PromptTemplate {
    const template = this.find(principal.user, name)
    if (!template || !mayGet(principal, template)) throw this.#noPrompt(principal, name)
    return template
  }

  /**
   * Returns the answer of `prompts/get` and counts the use. AppError `invalid` with every problem of the arguments
   * at once in `data.problems: [{argument, problem}]`, or with what went wrong in the template.
   */
  async render(
    principal: Principal,
    id: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<RenderedPrompt> {
    const template = this.prompt(principal, id)
    const read = this.read(template.id)
    const text = this.fit(principal, read, read.content.render(await this.#valuesOf(principal, read, args)))
    this.#usage.count('prompt', template.id)
    const commit = this.lineage.commitOf(template.id)
    return { template, text, ...(commit !== undefined && { commit }) }
  }

  /** Renders the same text without counting a use. */
  async preview(principal: Principal, id: string, args: Readonly<Record<string, unknown>>): Promise<string> {
    const read = this.read(this.prompt(principal, id).id)
    return this.fit(principal, read, read.content.render(await this.#valuesOf(principal, read, args)))
  }

  /** Returns at most 100 values for an argument that begin with the typed text, and the total. */
  async complete(
    principal: Principal,
    id: string,
    argument: string,
    typed: string,
  ): Promise<{ values: readonly string[]; total: number }> {
    const template = this.prompt(principal, id)
    const found = template.arguments.find(({ name }) => name === argument)
    if (!found) {
      throw new AppError(
        'invalid',
        `prompt "${id}" has no argument "${argument}"${didYouMean(
          argument,
          template.arguments.map(({ name }) => name),
        )}`,
      )
    }
    if (found.type === 'link') {
      return this.links.find(principal, found.doctype ?? '', typed, mostCompletions)
    }
    // A text argument whose name says that it takes a doctype may hold other text, but doctypes are worth suggesting.
    if (found.type === 'string' && /^(doctype|doctype_name|\w+_doctype)$/.test(found.name)) {
      return this.links.find(principal, doctypeOfDoctypes, typed, mostCompletions)
    }
    const values = suggestions(found, typed)
    return { values: values.slice(0, mostCompletions), total: values.length }
  }

  /** Returns the published skills that the principal may see, in a stable order. */
  skills(principal: Principal): readonly Skill[] {
    return this.#skillsOf(principal).list(principal)
  }

  /** Returns a skill; AppError `not_found`. */
  skill(principal: Principal, name: string): Skill {
    const skill = this.#skillsOf(principal).find(principal, name)
    if (!skill) {
      const names = this.skills(principal).map((one) => one.name)
      throw new AppError(
        'not_found',
        `there is no skill "${name}"${meantOrKnown(name, names)} (list_skills names them)`,
      )
    }
    return skill
  }

  /** Counts one reading of the skill. */
  countSkillRead(name: string): Promise<void> {
    this.#usage.count('skill', name)
    return Promise.resolve()
  }

  /** Returns a digest, equal for two principals, or two readings, exactly when they see the same prompts (or skills). */
  promptsDigest(principal: Principal): string {
    return this.#promptViews.digest(principal)
  }

  skillsDigest(principal: Principal): string {
    return this.#skillsOf(principal).digest(principal)
  }

  /** Returns the search index over every template, made on first use; callers filter by `maySee`. */
  index(): Promise<PromptIndex> {
    this.#searched ??= indexPrompts(this.templates.values())
    return this.#searched
  }

  /** Returns a template with its compiled content; callers have checked already whether it may be seen. */
  read(id: string): ReadTemplate {
    const read = this.reading.templates.get(id)
    if (!read) throw new AppError('not_found', `there is no prompt "${id}"`)
    return read
  }

  #skillsOf(principal: Principal): SkillViews {
    const lacks = this.#lacks(principal)
    const reads = (doctype: string): boolean => this.links.reads(principal, doctype)
    return this.#skillViews.of(
      lacks,
      principal.roleKey,
      () => new Views(skillsWithout(this.reading.skills, lacks, reads)),
    )
  }

  /** Removes from a shipped text the tools that its reader lacks. */
  fit(principal: Principal, { template }: ReadTemplate, text: string): string {
    if (!template.isSystem) return text
    const lacks = this.#lacks(principal)
    // Only the template is checked: the text of an argument belongs to its giver.
    const isUnfit = this.#unfit.of(lacks, template.id, () => namesAny(template.content, lacks))
    return isUnfit ? fitted(text, lacks) : text
  }

  #valuesOf(
    principal: Principal,
    read: ReadTemplate,
    args: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const exists = (doctype: string, name: string): Promise<boolean> =>
      this.links.exists(principal, doctype, name)
    return valuesFor(read, args, exists, this.#usage.now)
  }

  #noPrompt(principal: Principal, name: string): AppError {
    const prompts = this.prompts(principal)
    // Searching for a similar name takes long in a large library.
    const near =
      prompts.length > mostCompared
        ? undefined
        : nearest(
            name.slice(0, 200),
            prompts.map((template) => promptNameFor(principal, template)),
          )
    return new AppError(
      'not_found',
      `there is no prompt "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
    )
  }
}
