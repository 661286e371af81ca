/** Users' own choices beside their proofs: the part of a person that the site's files do not hold. */
import type { Accounts, Proofs } from '#credentials/accounts.ts'
import type { SignedIn as SignedInAs } from '#credentials/sessions.ts'
import type { User } from './people.ts'

/** One user's choices and proofs. */
export interface Account extends Proofs {
  readonly language?: string
  /** An IANA name, such as Europe/Berlin; UTC when absent. */
  readonly timezone?: string
  readonly views?: readonly SavedView[]
}

/** A view of a list that a user keeps; the one without a name is how the list begins. */
export interface SavedView {
  /** The doctype of its documents, or the path of the page of another list. */
  readonly doctype: string
  readonly name: string
  /** The query of its address. */
  readonly query: string
}

/** A session together with its user as of now. */
export type SignedIn = SignedInAs<User, Account>

/** Removes the views that a user keeps, and returns their number. */
export async function forgetViews(accounts: Accounts<Account>, user: string): Promise<number> {
  const { views = [] } = await accounts.of(user)
  if (views.length > 0) await accounts.change(user, ({ views: _views, ...account }) => account)
  return views.length
}
