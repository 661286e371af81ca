/** Ends tokens: one family, or all that meet conditions, of which there may be very many. */
import { setImmediate as turn } from 'node:timers/promises'
import { all, type Condition, compared } from '#state/questions.ts'
import type { Clock } from '#leaf/clock.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import { familyRecords, grantRecords, tokenRecords } from '../records.ts'
import type { AccessToken, Family, Grant } from '../records.ts'
import { idsOfLiving, livingTokens, type Selection } from './issued-tokens.ts'
import type { Ended } from './revocation-news.ts'

/** The access tokens ended in one transaction: between two of them others read and write. */
const batch = 200

/** Of families: not revoked. */
export const isStanding = compared('revokedAt', '=', null)

/** Revokes families with their access tokens, and approvals. */
export class Revocation {
  readonly #deps: { readonly store: Store; readonly clock: Clock }
  readonly #tellIn: (tx: Transaction, ended: readonly Ended[]) => void
  readonly #families: Collection<Family>
  readonly #tokens: Collection<AccessToken>
  readonly #grants: Collection<Grant>

  constructor(
    deps: { readonly store: Store; readonly clock: Clock },
    tellIn: (tx: Transaction, ended: readonly Ended[]) => void,
  ) {
    this.#deps = deps
    this.#tellIn = tellIn
    this.#families = deps.store.collection(familyRecords)
    this.#tokens = deps.store.collection(tokenRecords)
    this.#grants = deps.store.collection(grantRecords)
  }

  /**
   * Ends tokens at once; returns the families that ended. Many end a batch at a time, approvals first, so that nothing new comes
   * of them; when it is interrupted, doing it again ends the rest.
   */
  async revoke(selection: Selection, why: string): Promise<readonly Family[]> {
    const { store } = this.#deps
    const known = await this.#selected(selection)
    if (known.length > batch) await turn()
    const standing = batchesOf(
      known.filter(({ revokedAt }) => revokedAt === undefined),
      ({ generation }) => Math.min(generation, livingTokens),
    )
    const ended: Family[] = []
    if (standing.length > 1) await store.transaction((tx) => this.#endApprovals(tx, selection))
    for (const some of standing.length > 1 ? standing : []) {
      const end = async (tx: Transaction): Promise<Family[]> => {
        const now = await Promise.all(some.map(({ id }) => tx.in(this.#families).get(id)))
        return await this.#endIn(tx, now, selection, why)
      }
      const reads = some.map(({ id }) => [this.#families, id] as const)
      ended.push(...(await store.transaction(end, { reads })))
      await turn()
    }
    // What came meanwhile is little.
    ended.push(...(await store.transaction((tx) => this.revokeIn(tx, selection, why))))
    for (const some of batchesOf(known)) {
      await this.#endOthers(some)
      await turn()
    }
    return ended
  }

  /** Returns the families that a selection means, ended ones as well. */
  async #selected({ token, family, grant, user, client, all: every }: Selection): Promise<readonly Family[]> {
    const id = token === undefined ? family : (await this.#tokens.get(token))?.family
    const one = id === undefined ? undefined : await this.#families.get(id)
    if (one) return [one]
    const where = definedOnly({ grant, user, client })
    if ((token ?? family) !== undefined || (Object.keys(where).length === 0 && every === undefined)) return []
    return this.#families.find({ where })
  }

  /** Ends the access tokens of ended families that did not end with them, which may be very many. */
  async #endOthers(families: readonly Family[]): Promise<void> {
    const holds = activeOf(
      compared(
        'family',
        'in',
        families.map(({ id }) => id),
      ),
    )
    for (const some of batchesOf(await this.#tokens.find({ holds }))) {
      const end = async (tx: Transaction): Promise<void> => {
        for (const { id } of some) await tx.in(this.#tokens).update(id, revoked)
      }
      await this.#deps.store.transaction(end, { reads: some.map(({ id }) => [this.#tokens, id] as const) })
      await turn()
    }
  }

  /** Ends tokens as part of a transaction; takes effect on the next request, and on what is open, once that commits. */
  async revokeIn(tx: Transaction, selection: Selection, why: string): Promise<readonly Family[]> {
    const { token, family, grant, user, client } = selection
    if (Object.values(selection).every((condition) => condition === undefined)) return []
    const families = tx.in(this.#families)
    // A single family leaves the approval; a wider selection takes it, and with it codes under way.
    const single = token !== undefined || family !== undefined
    const id = token === undefined ? family : (await tx.in(this.#tokens).get(token))?.family
    const known = single
      ? [id === undefined ? undefined : await families.get(id)]
      : await families.find({ where: definedOnly({ grant, user, client }), holds: isStanding })
    const ended = await this.#endIn(tx, known, selection, why)
    if (grant !== undefined || !single) await this.#endApprovals(tx, selection)
    return ended
  }

  /** Ends families that still stand, with the tokens that may be used without a look at the family. */
  async #endIn(
    tx: Transaction,
    known: readonly (Family | undefined)[],
    { user, client, grant }: Selection,
    why: string,
  ): Promise<Family[]> {
    const standing = known.filter((one) => one !== undefined && one.revokedAt === undefined) as Family[]
    const tokens = tx.in(this.#tokens)
    // Asked once and before anything is written: over a network each question that follows a write waits for it.
    const active =
      standing.length === 0
        ? []
        : await tokens.find({ holds: activeOf(compared('id', 'in', standing.flatMap(idsOfLiving))) })
    const ended: Family[] = []
    const end = { revokedAt: this.#deps.clock.now(), revokedWhy: why }
    for (const family of standing) ended.push(await tx.in(this.#families).put({ ...family, ...end }))
    for (const token of active) await tokens.put(revoked(token))
    const isWholeUser = user !== undefined && (client ?? grant) === undefined
    const told = isWholeUser ? [{ user }] : ended
    if (told.length > 0) this.#tellIn(tx, told)
    return ended
  }

  async #endApprovals(tx: Transaction, { grant, user, client }: Selection): Promise<void> {
    const approvals = tx.in(this.#grants)
    const ids =
      grant === undefined
        ? (await approvals.find({ where: definedOnly({ user, client }) })).map(({ id }) => id)
        : [grant]
    for (const id of ids) await approvals.delete(id)
  }
}

function activeOf(tokens: Condition): Condition {
  return all(tokens, compared('status', '=', 'Active'))
}

/** Cuts a list into parts, each of things that weigh no more than a batch together, or of one. */
function batchesOf<T>(list: readonly T[], weigh: (one: T) => number = () => 1): readonly (readonly T[])[] {
  const batches: T[][] = []
  let room = 0
  for (const one of list) {
    room -= weigh(one)
    if (room >= 0) batches.at(-1)!.push(one)
    else {
      batches.push([one])
      room = batch - weigh(one)
    }
  }
  return batches
}

function revoked(token: AccessToken): AccessToken {
  return { ...token, status: 'Revoked' }
}

function definedOnly<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T
}
