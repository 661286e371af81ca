import type { Principal } from '../core/principal.ts'
import type { Library } from './library.ts'

/** The working tree's own line; every other line is a channel, named by its role. */
export const siteLine = 'site'

/** The channel of everybody whose roles have none of their own. */
export const defaultChannel = 'default'

/**
 * The libraries of a site, one a line (setting `library.channels`): whoever has a channel's role sees that
 * branch's library, everybody else the default channel or, without one, the working tree. Branches move while the site
 * stays as it is, so this is the one part of a snapshot that does: a request takes its library from it once.
 */
export class Channels {
  private lines: ReadonlyMap<string, Library>

  /** Libraries by line, channels in the order of the setting. */
  constructor(lines: ReadonlyMap<string, Library>) {
    this.lines = lines
  }

  /** The library that this principal sees; a request takes it once, so that all of its answers agree. */
  for(principal: Principal): Library {
    return this.lines.get(this.lineOf(principal))!
  }

  /** The line of the same. */
  lineOf(principal: Principal): string {
    for (const line of this.lines.keys()) {
      // Neither is a role, whatever roles are called.
      if (line !== siteLine && line !== defaultChannel && principal.roles.has(line)) return line
    }
    return this.lines.has(defaultChannel) ? defaultChannel : siteLine
  }

  /** The line that somebody writes to who sees this one: itself where it is a branch, else the working tree. */
  writtenLine(line: string): string {
    return this.lines.get(line)?.lineage.branch === undefined ? siteLine : line
  }

  /** The library of the working tree: what files may be written to. */
  get site(): Library {
    return this.lines.get(siteLine)!
  }

  /** Every line with its library. */
  all(): ReadonlyMap<string, Library> {
    return this.lines
  }

  /** Puts newer libraries in the place of those of the same lines, at once. */
  replace(lines: ReadonlyMap<string, Library>): void {
    this.lines = new Map([...this.lines, ...lines])
  }
}
