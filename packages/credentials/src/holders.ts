/** Whom credentials belong to. All that is asked of them: whether they are there, and whether they may sign in. */
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Store } from '#state/store.ts'

/** A person or service that has credentials. */
export interface Holder {
  /** An e-mail address, in lower case. */
  readonly id: string
  /** When false, nobody signs in as this one, and every token and key is refused at once. */
  readonly enabled: boolean
}

/** All holders of a moment. */
export interface Holders<H extends Holder> {
  /** Finds the holder of exactly that address, in any case; the places where people type remove blanks. */
  find(email: string): H | undefined
}

/** What every kind of credential stands on. */
export interface Parts<H extends Holder = Holder> {
  readonly store: Store
  readonly clock: Clock
  readonly people: () => Holders<H>
}

/** Finds the holder of that address. AppError `not_found`. */
export function knownUser<H extends Holder>(people: Holders<H>, email: string): H {
  const user = people.find(email)
  if (!user) throw new AppError('not_found', `no user ${email}`)
  return user
}
