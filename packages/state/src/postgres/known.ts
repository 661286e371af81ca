/** The facts about a collection that a read goes by. */
import { Expiry } from '../expiry.ts'
import { documentLayout } from './translating/document-layout.ts'
import type { Layout } from './translating/layout.ts'
import type { CommonWords, Sizes } from './picture.ts'
import type { TableSpec } from '../embedded/table.ts'

/** The facts about a collection that a read goes by. */
export interface Known {
  readonly name: string
  readonly layout: Layout
  /** Fields whose values have an index. */
  readonly indexes: readonly string[]
  /** The expiry of its documents. */
  readonly expiry: Expiry | undefined
  readonly now: number
  /** True when reading all of it takes no time. */
  readonly small: boolean
  readonly common: CommonWords
}

const small = 5000

/** Gathers the facts about a collection for a read now. */
export function known({ name, indexes, expires }: TableSpec, now: number, sizes: Sizes): Known {
  return {
    name,
    layout: documentLayout(name, indexes),
    indexes,
    expiry: expires === undefined ? undefined : new Expiry(expires),
    now,
    small: sizes.of(name) <= small,
    common: sizes.common(name),
  }
}
