import type { Fault } from '#site/site-files.ts'
import type { Dependency } from '#site/site.ts'
import type { Tool } from '../tool.ts'

/** A warning about what works. */
export interface Remark extends Fault {
  /** Set where a tool is listed with less than its schema says, which needs no mending. */
  readonly ofListing?: true
}

/** One definition of the site: its tools and their dependency. */
export interface EntryParts extends Dependency {
  readonly tools: () => readonly Tool[]
  /** Returns warnings about a dependency that works, as of the last attempt. */
  readonly remarks?: () => readonly Remark[]
}
