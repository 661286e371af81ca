/** Every way into an account beside its password: ways that somebody else may have left there, and ending them. */
import type { Needs } from '../../control/operation.ts'
import type { AuditEvent } from '#audit/audit.ts'
import { hasSecondFactor } from '#credentials/accounts.ts'
import { accessesOf, type AccessDeps } from './connected-apps-page.ts'

/** The sources of the ways. */
export type WaysDeps = AccessDeps & Needs<'accounts' | 'secondFactors'>

/** A way into an account. */
export interface Way {
  /** Its name in a form and in the audit log. */
  readonly id: string
  /** True for a second factor, false for something that acts without the person. */
  readonly proves: boolean
  /** The data to show: its name, age, and the addresses where it was made and used. */
  readonly view: Readonly<Record<string, unknown>>
  /** Ends it; returns the audit event. */
  readonly end: () => Promise<Pick<AuditEvent, 'type' | 'client' | 'target'>>
}

/** Returns all ways into a user's account, second factors first. */
export async function waysInto(user: string, deps: WaysDeps): Promise<readonly Way[]> {
  const accesses = await accessesOf(user, deps)
  return [
    ...(await proofsOf(user, deps)),
    ...accesses.map(({ kind, id, view, end }) => ({ id: `${kind}.${id}`, proves: false, view, end })),
  ]
}

async function proofsOf(user: string, { accounts, secondFactors }: WaysDeps): Promise<Way[]> {
  const account = await accounts.of(user)
  const { totp, passkeys = [], recoveryCodes } = account
  const proof = (
    id: string,
    which: Parameters<WaysDeps['secondFactors']['remove']>[1],
    view: Record<string, unknown>,
  ): Way => ({
    id,
    proves: true,
    view,
    end: async () => {
      await secondFactors.remove(user, which, false)
      return { type: 'second_factor.remove', target: id }
    },
  })
  return [
    ...(totp
      ? [proof('totp', { totp: true }, { title: 'account.app', since: totp.createdAt, from: totp.from })]
      : []),
    ...passkeys.map(({ id, name, createdAt: since, from, usedAt: lastUsed, usedFrom }) => {
      const view = { title: name === '' ? 'account.passkey' : 'account.passkey_named', label: name }
      return proof(`passkey.${id}`, { passkey: id }, { ...view, since, from, lastUsed, usedFrom })
    }),
    ...(hasSecondFactor(account) && recoveryCodes
      ? [proof('codes', { codes: true }, { title: 'account.codes' })]
      : []),
  ]
}
