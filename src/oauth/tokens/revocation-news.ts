/** The messages by which daemons on one database tell each other that tokens and API keys ended. */
import type { Principal } from '../../core/principal.ts'
import { announce, hear } from '../../core/announcements.ts'
import type { Store, Transaction } from '#state/store.ts'
import type { ApiKey } from '#credentials/api-keys.ts'
import type { AccessToken } from '../records.ts'

/** The user and the client whose tokens ended, or the API key that ended; without either, all that acts for the user. */
export interface Ended {
  readonly user: string
  readonly client?: string
  readonly apiKey?: string
}

/** True for a principal whose right to act may have ended. */
export function isAmong(ended: readonly Ended[], { user, client, apiKey }: Principal): boolean {
  return ended.some(
    (one) =>
      one.user === user &&
      (one.client === undefined || one.client === client?.id) &&
      (one.apiKey === undefined || one.apiKey === apiKey),
  )
}

/** Tells the other daemons on commit whose tokens ended; `*` where that are more than can be told. */
export function tellEnded(transaction: Pick<Transaction, 'announce'>, ended: readonly Ended[]): void {
  const whose = new Set(ended.map(({ user, client, apiKey }) => JSON.stringify({ user, client, apiKey })))
  if (!announce(transaction, 'revoked', `[${[...whose].join(',')}]`)) announce(transaction, 'revoked', '*')
}

/** Hears whose tokens ended at another daemon; undefined where it may be anybody's. */
export function hearEnded(
  store: Pick<Store, 'hear'>,
  heard: (ended: readonly Ended[] | undefined) => void,
): void {
  const read = (text: string): void => heard(text === '*' ? undefined : (JSON.parse(text) as Ended[]))
  hear(store, 'revoked', read, () => heard(undefined))
}

/** Returns those whose token or API key no longer works, of those who act through one. Expiry tells the tokens of a client apart. */
export async function revokedAmong(
  held: readonly Principal[],
  {
    tokensOf,
    keysOf,
  }: {
    readonly tokensOf: (user: string) => Promise<readonly AccessToken[]>
    readonly keysOf: (user: string) => Promise<readonly ApiKey[]>
  },
): Promise<ReadonlySet<Principal>> {
  const live = new Set<string>()
  for (const user of new Set(held.map((principal) => principal.user))) {
    for (const { client, expiresAt, status } of await tokensOf(user))
      if (status === 'Active') live.add(`${user} ${client} ${expiresAt}`)
    for (const { id, revokedAt } of await keysOf(user)) if (revokedAt === undefined) live.add(id)
  }
  return new Set(
    held.filter(({ user, client, apiKey, expiresAt }) => {
      const name = client ? `${user} ${client.id} ${expiresAt}` : apiKey
      return name !== undefined && !live.has(name)
    }),
  )
}
