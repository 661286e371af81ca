/** The approvals of clients by users: remembered, listed for the user, revoked. */
import type { Clock } from '#leaf/clock.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import { grantRecords, type Grant } from '../records.ts'

/** The content of an approval. */
export type Approval = Pick<
  Grant,
  'user' | 'client' | 'clientName' | 'redirectHost' | 'scopes' | 'readOnly' | 'from'
>

/** The approvals of all users. */
export class Grants {
  readonly #clock: Clock
  readonly #grants: Collection<Grant>

  constructor(deps: { store: Store; clock: Clock }) {
    this.#clock = deps.clock
    this.#grants = deps.store.collection(grantRecords)
  }

  /**
   * Keeps an approval: as a new grant, or as more scopes of the grant before, which is for the same client and redirect
   * host, and as wide as this approval.
   */
  async approveIn(tx: Transaction, approval: Approval, before: Grant | undefined): Promise<Grant> {
    const grants = tx.in(this.#grants)
    const now = this.#clock.now()
    if (!before) return grants.insert({ ...approval, id: randomId(), createdAt: now, approvedAt: now })
    const scopes = [...new Set([...before.scopes, ...approval.scopes])]
    const { readOnly: _narrowed, from: _before, ...rest } = before
    const { user: _user, client: _client, ...approved } = approval
    return grants.put({ ...rest, ...approved, scopes, approvedAt: now })
  }

  /** Returns the earlier approval that covers all of this one. */
  async covering(approval: Approval): Promise<Grant | undefined> {
    const known = await same(this.#grants, approval)
    return known && approval.scopes.every((scope) => known.scopes.includes(scope)) ? known : undefined
  }

  /** Returns the grant of the same user for the same client and redirect host, as a transaction sees it. */
  async beforeIn(tx: Transaction, approval: Approval): Promise<Grant | undefined> {
    return same(tx.in(this.#grants), approval)
  }

  /** Returns a grant, as a transaction sees it. */
  async getIn(tx: Transaction, id: string): Promise<Grant | undefined> {
    return tx.in(this.#grants).get(id)
  }

  /** Returns a user's grants, or all, newest first. */
  async list(where: { user?: string; client?: string } = {}): Promise<readonly Grant[]> {
    return this.#grants.find({ where, order: [{ field: 'approvedAt', descending: true }] })
  }
}

/** Finds the same grant among all of a user's for one client: they are few, and looking through them costs less than a query. */
async function same(
  grants: Collection<Grant>,
  { user, client, redirectHost }: Approval,
): Promise<Grant | undefined> {
  const known = await grants.find({ where: { user, client } })
  return known.find((grant) => grant.redirectHost === redirectHost)
}
