import type { Principal } from '../../core/principal.ts'
import type { Library } from '../library.ts'

/** The line of the working tree; every other line is a channel, named by its role. */
export const siteLine = 'site'

/** The channel of everybody whose roles have none of their own. */
export const defaultChannel = 'default'

/**
 * The libraries of a site, one for each line (setting `library.channels`): whoever has a channel's role sees that
 * branch's library, everybody else the default channel or, without one, the working tree. This is the one part of a
 * snapshot that changes, since branches move while the site stays the same: a request takes its library from it once.
 */
export class Channels {
  #lines: ReadonlyMap<string, Library>

  /** Libraries by line, with channels in the order of the setting. */
  constructor(lines: ReadonlyMap<string, Library>) {
    this.#lines = lines
  }

  /** Returns the library that this principal sees; a request takes it once, so that all of its answers agree. */
  for(principal: Principal): Library {
    return this.#lines.get(this.lineOf(principal))!
  }

  /** Returns the line that this principal sees. */
  lineOf(principal: Principal): string {
    for (const line of this.#lines.keys()) {
      // Neither of these lines is a role, even if a role has that name.
      if (line !== siteLine && line !== defaultChannel && principal.roles.has(line)) return line
    }
    return this.#lines.has(defaultChannel) ? defaultChannel : siteLine
  }

  /** Returns the line that a reader of this line writes to: the line itself where it is a branch, else the working tree. */
  writtenLine(line: string): string {
    return this.#lines.get(line)?.lineage.branch === undefined ? siteLine : line
  }

  /** The library of the working tree, whose files may be written. */
  get site(): Library {
    return this.#lines.get(siteLine)!
  }

  /** Returns every line with its library. */
  all(): ReadonlyMap<string, Library> {
    return this.#lines
  }

  /** Replaces the libraries of these lines, all at once. */
  replace(lines: ReadonlyMap<string, Library>): void {
    this.#lines = new Map([...this.#lines, ...lines])
  }
}
