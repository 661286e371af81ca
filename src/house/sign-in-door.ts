import { Accounts } from '../users/accounts.ts'
import { OneTimeLinks } from '../users/one-time-links.ts'
import { Passkeys } from '../users/passkeys.ts'
import { Passwords } from '../users/passwords.ts'
import { SecondFactors } from '../users/second-factors.ts'
import { Sessions } from '../users/sessions.ts'
import { SignIn } from '../users/sign-in.ts'
import type { Foundation } from './foundation.ts'
import type { House } from './house.ts'
import type { PublicAddress } from './public-address.ts'

/** How people prove who they are, and what is kept of them while they are here. */
export type SignInDoor = ReturnType<typeof openSignIn>

/** Opens the door of people. */
export function openSignIn(taken: Foundation & Pick<House, 'people'> & Pick<PublicAddress, 'publicUrl'>) {
  const { store, clock, audit, settings, people, publicUrl } = taken
  const accounts = new Accounts({ store })
  const passwords = new Passwords({ store, clock, people })
  return {
    accounts,
    links: new OneTimeLinks({ store, clock, people }),
    passkeys: new Passkeys({ store, clock, accounts, publicUrl }),
    passwords,
    secondFactors: new SecondFactors({ clock, accounts }),
    sessions: new Sessions({ store, clock, settings, people, accounts }),
    signIn: new SignIn({ store, clock, people, passwords, audit }),
  }
}
