import type { Principal } from '../core/principal.ts'
import type { Library, PromptTemplate, RenderedPrompt, Skill } from './library.ts'
import type { SiteLibrary } from './site-library.ts'

/** The working tree's own line; every other line is a channel, named by its role. */
export const siteLine = 'site'

/** The channel of everybody whose roles have none of their own. */
export const defaultChannel = 'default'

/**
 * The library of a site with its channels (setting `library.channels`): whoever has a channel's role
 * sees that branch's library, everybody else the default channel or, without one, the working tree.
 */
export class LiveLibrary implements Library {
  private lines: ReadonlyMap<string, SiteLibrary>

  /** Libraries by line, channels in the order of the setting. */
  constructor(lines: ReadonlyMap<string, SiteLibrary>) {
    this.lines = lines
  }

  /** The library that this principal sees; take it once where several answers must agree. */
  of(principal: Principal): SiteLibrary {
    for (const [line, library] of this.lines) {
      // Neither is a role, whatever roles are called.
      if (line === siteLine || line === defaultChannel) continue
      if (principal.roles.has(line)) return library
    }
    return this.lines.get(defaultChannel) ?? this.site
  }

  /** The library of the working tree: what files may be written to. */
  get site(): SiteLibrary {
    return this.lines.get(siteLine)!
  }

  /** Every line with its library. */
  all(): ReadonlyMap<string, SiteLibrary> {
    return this.lines
  }

  /** Puts newer libraries in the place of those of the same lines, at once. */
  replace(lines: ReadonlyMap<string, SiteLibrary>): void {
    this.lines = new Map([...this.lines, ...lines])
  }

  prompts(principal: Principal): readonly PromptTemplate[] {
    return this.of(principal).prompts(principal)
  }

  prompt(principal: Principal, id: string): PromptTemplate {
    return this.of(principal).prompt(principal, id)
  }

  render(principal: Principal, id: string, args: Readonly<Record<string, unknown>>): Promise<RenderedPrompt> {
    return this.of(principal).render(principal, id, args)
  }

  complete(
    principal: Principal,
    id: string,
    argument: string,
    typed: string,
  ): Promise<{ values: readonly string[]; total: number }> {
    return this.of(principal).complete(principal, id, argument, typed)
  }

  skills(principal: Principal): readonly Skill[] {
    return this.of(principal).skills(principal)
  }

  skill(principal: Principal, name: string): Skill {
    return this.of(principal).skill(principal, name)
  }

  countSkillRead(name: string): Promise<void> {
    return this.site.countSkillRead(name)
  }

  promptsDigest(principal: Principal): string {
    return this.of(principal).promptsDigest(principal)
  }

  skillsDigest(principal: Principal): string {
    return this.of(principal).skillsDigest(principal)
  }
}
