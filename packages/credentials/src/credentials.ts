/** How people prove who they are, and what is kept of them while they are here: all of it, opened together. */
import { Accounts, type Proofs } from './accounts.ts'
import type { Holder } from './holders.ts'
import { OneTimeLinks } from './one-time-links.ts'
import { Passkeys, type PasskeyParts } from './passkeys.ts'
import { Passwords } from './passwords.ts'
import { SecondFactors } from './second-factors.ts'
import { Sessions, type SessionParts } from './sessions.ts'
import { SignIn, type SignInParts } from './sign-in.ts'

/** What credentials stand on, and what they do not decide: who there is, how long a session lasts, where they are served. */
export type CredentialParts<H extends Holder, P extends Proofs> = Omit<
  SessionParts<H, P> & SignInParts<H> & PasskeyParts,
  'accounts' | 'passwords'
>

/** The credentials of holders whose accounts keep `P`. */
export type Credentials<H extends Holder, P extends Proofs> = ReturnType<typeof openCredentials<H, P>>

/** Opens the credentials of a state. */
export function openCredentials<H extends Holder, P extends Proofs>(given: CredentialParts<H, P>) {
  const accounts = new Accounts<P>(given)
  const passwords = new Passwords(given)
  return {
    accounts,
    passwords,
    links: new OneTimeLinks(given),
    passkeys: new Passkeys({ ...given, accounts }),
    secondFactors: new SecondFactors({ ...given, accounts }),
    sessions: new Sessions({ ...given, accounts }),
    signIn: new SignIn({ ...given, passwords }),
  }
}
