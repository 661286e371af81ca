import { didYouMean, nearest } from '../core/names.ts'
import { AppError } from '../core/errors.ts'
import { systemManager, type Principal } from '../core/principal.ts'
import { mayGet } from './access.ts'
import { suggestions } from './argument-types.ts'
import { doctypeOfDoctypes, type PromptTemplate, type RenderedPrompt, type Skill } from './words.ts'
import type { LibraryReading } from './check-library.ts'
import type { Examined } from './read-library.ts'
import { indexPrompts, type PromptIndex } from './search.ts'
import { fitted, namesAny } from './lint.ts'
import { skillsWithout } from './skill-files.ts'
import { valuesFor, type ReadTemplate } from './template-file.ts'
import type { LibraryUsage } from './usage.ts'
import type { VersionLine } from './versions.ts'
import { Views } from './views.ts'

/** What the library asks of business data, for arguments of type `link`: names of documents, as permissions allow. */
export interface LinkTargets {
  /** Whether the document exists and the principal may read it. */
  exists(principal: Principal, doctype: string, name: string): Promise<boolean>
  /** Names of documents that the principal may read and that begin with what was typed. */
  find(
    principal: Principal,
    doctype: string,
    typed: string,
    limit: number,
  ): Promise<{ values: readonly string[]; total: number }>
}

/** The tools of this server that a principal is not offered; the same set for the same offer. */
export type Lacks = (principal: Principal) => ReadonlySet<string>

/** Where a reading comes from and goes to: the numbers of its versions are in its templates already. */
export interface Lineage {
  readonly line: VersionLine
  /** The commit that a template's file stands at, where it is committed. */
  readonly commitOf: (id: string) => string | undefined
  /** The branch that is written to in place of the working tree. */
  readonly branch?: string
  /** What a file of the library would be, were it these bytes. */
  readonly examine: (file: string, bytes: Uint8Array) => Examined
}

const mostCompletions = 100
const mostCompared = 1000

/** The prompt templates and skills of one reading; every question takes the principal first and hides what it may not see. */
export class Library {
  /** Everything, whoever may see it: for the operator's command line and for checks. */
  readonly reading: LibraryReading
  /** Every template with its version number, by prompt_id. */
  readonly templates: ReadonlyMap<string, PromptTemplate>
  /** Older versions of the templates. */
  readonly line: VersionLine
  readonly lineage: Lineage
  private readonly usage: LibraryUsage
  /** Of the same reading of the site. */
  readonly links: LinkTargets
  private readonly promptViews: Views<PromptTemplate>
  private searched: Promise<PromptIndex> | undefined
  private readonly lacks: Lacks
  /** Which shipped templates name what those lack who lack the same tools. */
  private readonly unfit = new WeakMap<ReadonlySet<string>, Map<string, boolean>>()
  /** Skills as those see them who lack the same tools. */
  private readonly skillViews = new WeakMap<ReadonlySet<string>, Views<Skill & { readonly digest: string }>>()

  /** `templates` are those of the reading with their numbers. */
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
    this.usage = usage
    this.links = links
    this.promptViews = new Views(templates)
    this.lacks = lacks
  }

  /** What `prompts/list` shows, in a stable order. */
  prompts(principal: Principal): readonly PromptTemplate[] {
    return this.promptViews.list(principal)
  }

  /** Everything that the principal can get, which for System Managers is more than lists show. */
  gettable(principal: Principal): readonly PromptTemplate[] {
    return principal.roles.has(systemManager) ? [...this.templates.values()] : this.prompts(principal)
  }

  /** AppError `not_found` when there is none or the principal may not get it. */
  prompt(principal: Principal, id: string): PromptTemplate {
    const template = this.templates.get(id)
    if (!template || !mayGet(principal, template)) throw this.noPrompt(principal, id)
    return template
  }

  /**
   * What `prompts/get` answers; counts the use. AppError `invalid` with every problem of the arguments at
   * once in `data.problems: [{argument, problem}]`, or with what went wrong in the template.
   */
  async render(
    principal: Principal,
    id: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<RenderedPrompt> {
    const template = this.prompt(principal, id)
    const read = this.read(id)
    const text = this.fit(principal, read, read.content.render(await this.valuesOf(principal, read, args)))
    this.usage.count('prompt', id)
    const commit = this.lineage.commitOf(id)
    return { template, text, ...(commit !== undefined && { commit }) }
  }

  /** The same text for whoever only looks: nothing is counted. */
  async preview(principal: Principal, id: string, args: Readonly<Record<string, unknown>>): Promise<string> {
    const read = this.read(this.prompt(principal, id).id)
    return this.fit(principal, read, read.content.render(await this.valuesOf(principal, read, args)))
  }

  /** Values for an argument that begin with what was typed, at most 100 and the total. */
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
    // A text that says by its name that a doctype is meant may hold another, but these are worth suggesting.
    if (found.type === 'string' && /^(doctype|doctype_name|\w+_doctype)$/.test(found.name)) {
      return this.links.find(principal, doctypeOfDoctypes, typed, mostCompletions)
    }
    const values = suggestions(found, typed)
    return { values: values.slice(0, mostCompletions), total: values.length }
  }

  /** Published skills that the principal may see, in a stable order. */
  skills(principal: Principal): readonly Skill[] {
    return this.skillsOf(principal).list(principal)
  }

  /** AppError `not_found`. */
  skill(principal: Principal, name: string): Skill {
    const skill = this.skillsOf(principal).find(principal, name)
    if (!skill) throw new AppError('not_found', `there is no skill "${name}"`)
    return skill
  }

  /** Counts a reading of the skill. */
  countSkillRead(name: string): Promise<void> {
    this.usage.count('skill', name)
    return Promise.resolve()
  }

  /** Equal for two principals, or two readings, exactly when they see the same prompts (or skills). */
  promptsDigest(principal: Principal): string {
    return this.promptViews.digest(principal)
  }

  skillsDigest(principal: Principal): string {
    return this.skillsOf(principal).digest(principal)
  }

  /** The search index over every template, made when it is first asked for; filter by `maySee`. */
  index(): Promise<PromptIndex> {
    this.searched ??= indexPrompts(this.templates.values())
    return this.searched
  }

  /** A template with its compiled content; for those who have asked already whether it may be seen. */
  read(id: string): ReadTemplate {
    const read = this.reading.templates.get(id)
    if (!read) throw new AppError('not_found', `there is no prompt "${id}"`)
    return read
  }

  private skillsOf(principal: Principal): Views<Skill & { readonly digest: string }> {
    const lacks = this.lacks(principal)
    let views = this.skillViews.get(lacks)
    if (!views) {
      views = new Views(skillsWithout(this.reading.skills, lacks))
      this.skillViews.set(lacks, views)
    }
    return views
  }

  /** What the package brings does not name what its reader lacks. */
  fit(principal: Principal, { template }: ReadTemplate, text: string): string {
    if (!template.isSystem) return text
    const lacks = this.lacks(principal)
    let known = this.unfit.get(lacks)
    if (!known) this.unfit.set(lacks, (known = new Map()))
    let isUnfit = known.get(template.id)
    // What an argument says is its giver's own.
    if (isUnfit === undefined) known.set(template.id, (isUnfit = namesAny(template.content, lacks)))
    return isUnfit ? fitted(text, lacks) : text
  }

  private valuesOf(
    principal: Principal,
    read: ReadTemplate,
    args: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    return valuesFor(read, args, (doctype, name) => this.links.exists(principal, doctype, name))
  }

  private noPrompt(principal: Principal, id: string): AppError {
    const prompts = this.prompts(principal)
    // Looking for what was meant takes its time in a large library.
    const near =
      prompts.length > mostCompared
        ? undefined
        : nearest(
            id.slice(0, 200),
            prompts.map((template) => template.id),
          )
    return new AppError(
      'not_found',
      `there is no prompt "${id}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
    )
  }
}
