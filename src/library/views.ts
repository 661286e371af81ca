import { createHash } from 'node:crypto'
import type { Principal } from '../core/principal.ts'
import { maySee, reaches } from './access.ts'
import type { Guarded } from './words.ts'
import { isOwnName } from './writing/own-names.ts'

/** A thing in a view: guarded, named, and with a digest of what is seen of it. */
export interface Viewed extends Guarded {
  readonly id?: string
  readonly name: string
  readonly digest: string
}

interface View<T> {
  readonly things: readonly T[]
  readonly digest: string
}

/**
 * Caches what different principals see of one snapshot. A list is made once for each role set
 * (and once more for each owner in it), so a request costs the same however many things it may not see.
 */
export class Views<T extends Viewed> {
  readonly #things: ReadonlyMap<string, T>
  #sorted: Sorted<T> | undefined
  readonly #byRoles = new Map<string, View<T>>()
  readonly #byUser = new Map<string, View<T>>()

  /** The things, by the name under which they are asked for. */
  constructor(things: ReadonlyMap<string, T>) {
    this.#things = things
  }

  /** Returns the thing of that name, if it exists for the principal. */
  find(principal: Principal, name: string): T | undefined {
    const thing = this.#things.get(name)
    return thing && maySee(principal, thing) ? thing : undefined
  }

  /** Lists everything that exists for the principal: their own first, then Public, Shared, Private, built in. */
  list(principal: Principal): readonly T[] {
    return this.#view(principal).things
  }

  /** Returns a digest, equal exactly when two principals (or two snapshots) see the same. */
  digest(principal: Principal): string {
    return this.#view(principal).digest
  }

  #view(principal: Principal): View<T> {
    const { ordered, byOwner } = (this.#sorted ??= sort(this.#things))
    const own = byOwner.get(principal.user)
    if (!own) {
      return remembered(this.#byRoles, principal.roleKey, () =>
        ordered.filter((thing) => reaches(principal.roles, thing)),
      )
    }
    const named = own.filter(isOwnName)
    const make = (): readonly T[] => {
      const others = ordered.filter(
        (thing) => thing.owner !== principal.user && reaches(principal.roles, thing),
      )
      // The principal's own names hide equal names of others.
      const names = new Set(named.map(({ name }) => name))
      return [...own, ...others].filter((thing) => isOwnName(thing) || !names.has(thing.name))
    }
    // A System Manager may see the same things under other names.
    const names = named.length > 0 ? principal.user : ''
    return remembered(this.#byUser, `${principal.user}\n\n${principal.roleKey}`, make, names)
  }
}

/** Things in the order of lists, and by owner in the same order. */
interface Sorted<T> {
  readonly ordered: readonly T[]
  readonly byOwner: ReadonlyMap<string, readonly T[]>
}

function sort<T extends Guarded>(things: ReadonlyMap<string, T>): Sorted<T> {
  const ordered = [...things]
    .map(([name, thing]) => ({ name, thing, rank: rankOf(thing) }))
    .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
    .map(({ thing }) => thing)
  const byOwner = new Map<string, T[]>()
  for (const thing of ordered) {
    if (thing.owner === '') continue
    const own = byOwner.get(thing.owner)
    if (own) own.push(thing)
    else byOwner.set(thing.owner, [thing])
  }
  return { ordered, byOwner }
}

function rankOf(thing: Guarded): number {
  if (thing.isSystem) return 3
  return thing.visibility === 'Public' ? 0 : thing.visibility === 'Shared' ? 1 : 2
}

function remembered<T extends Viewed>(
  views: Map<string, View<T>>,
  key: string,
  make: () => readonly T[],
  names = '',
): View<T> {
  const known = views.get(key)
  if (known) return known
  const things = Object.freeze(make())
  const hash = createHash('sha256').update(names)
  for (const thing of things) hash.update(thing.digest)
  const view = { things, digest: hash.digest('base64url') }
  views.set(key, view)
  return view
}
