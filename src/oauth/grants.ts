/** Who has approved which client: remembered, listed for the user, revoked. */
import type { Clock } from '../core/clock.ts'
import { randomId } from '../core/secrets.ts'
import type { Collection, Store, Transaction } from '../store/store.ts'
import { grantRecords, type Grant } from './records.ts'

/** What a user approves. */
export type Approval = Pick<Grant, 'user' | 'client' | 'clientName' | 'redirectHost' | 'scopes' | 'readOnly'>

/** The approvals of all users. */
export class Grants {
  readonly #clock: Clock
  readonly #grants: Collection<Grant>

  constructor(deps: { store: Store; clock: Clock }) {
    this.#clock = deps.clock
    this.#grants = deps.store.collection(grantRecords)
  }

  /**
   * Keeps an approval: a new grant, or more scopes of the one before, which is for the same client and redirect host, as
   * wide as this time.
   */
  async approveIn(tx: Transaction, approval: Approval, before: Grant | undefined): Promise<Grant> {
    const grants = tx.in(this.#grants)
    const now = this.#clock.now()
    if (!before) return grants.insert({ ...approval, id: randomId(), createdAt: now, approvedAt: now })
    const scopes = [...new Set([...before.scopes, ...approval.scopes])]
    const { readOnly: _narrowed, ...rest } = before
    const { clientName, readOnly } = approval
    return grants.put({ ...rest, clientName, scopes, ...(readOnly && { readOnly }), approvedAt: now })
  }

  /** The earlier approval that covers all of this one. */
  async covering(approval: Approval): Promise<Grant | undefined> {
    const known = await same(this.#grants, approval)
    return known && approval.scopes.every((scope) => known.scopes.includes(scope)) ? known : undefined
  }

  /** The grant of the same user for the same client and redirect host, as a transaction sees it. */
  async beforeIn(tx: Transaction, approval: Approval): Promise<Grant | undefined> {
    return same(tx.in(this.#grants), approval)
  }

  /** A grant, as a transaction sees it. */
  async getIn(tx: Transaction, id: string): Promise<Grant | undefined> {
    return tx.in(this.#grants).get(id)
  }

  /** A user's grants, or all, newest first. */
  async list(where: { user?: string; client?: string } = {}): Promise<readonly Grant[]> {
    return this.#grants.find({ where, order: [{ field: 'approvedAt', descending: true }] })
  }

  /** One of this user's grants; another's does not exist. */
  async find(id: string, user: string): Promise<Grant | undefined> {
    const grant = await this.#grants.get(id)
    return grant?.user === user ? grant : undefined
  }
}

/** A user has few grants for one client: to look through them costs less than to ask for one. */
async function same(
  grants: Collection<Grant>,
  { user, client, redirectHost }: Approval,
): Promise<Grant | undefined> {
  const known = await grants.find({ where: { user, client } })
  return known.find((grant) => grant.redirectHost === redirectHost)
}
