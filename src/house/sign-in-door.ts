import { type CredentialParts, type Credentials, openCredentials } from '#credentials/credentials.ts'
import type { Store } from '#state/store.ts'
import { announce, hear } from '../core/announcements.ts'
import type { Account } from '../users/accounts.ts'
import type { User } from '../users/people.ts'
import type { Foundation } from './foundation.ts'
import type { House } from './house.ts'
import type { PublicAddress } from './public-address.ts'

/** How people prove who they are, and what is kept of them while they are here. */
export type SignInDoor = Credentials<User, Account>

type Taken = Pick<Foundation, 'store' | 'clock' | 'audit' | 'settings'> &
  Pick<House, 'people'> &
  Pick<PublicAddress, 'publicUrl'>

/** Opens the door of people. */
export function openSignIn(taken: Taken): SignInDoor {
  return openCredentials<User, Account>({
    ...taken,
    sessionHours: () => taken.settings().login.session_hours,
    attempts: attemptsOn(taken.store),
  })
}

/** What daemons on one store tell each other of attempts to sign in. */
export function attemptsOn(store: Store): CredentialParts<User, Account>['attempts'] {
  return {
    announce: (transaction, text) => void announce(transaction, 'signIn', text),
    hear: (heard) => hear(store, 'signIn', heard),
  }
}
