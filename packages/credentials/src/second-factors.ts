/** Codes of an authenticator app (RFC 6238), and the recovery codes for the day when the app is lost. */
import { Secret, TOTP } from 'otpauth'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { randomSecret, sha256 } from '#leaf/secrets.ts'
import { type Accounts, hasSecondFactor, type Proofs, withoutProofs } from './accounts.ts'

const period = 30
const numberOfCodes = 10

/** The second factors of all users that are codes. */
export class SecondFactors {
  readonly #clock: Clock
  readonly #accounts: Accounts<Proofs>

  constructor(deps: { clock: Clock; accounts: Accounts<Proofs> }) {
    this.#clock = deps.clock
    this.#accounts = deps.accounts
  }

  /**
   * Returns a secret for an app in base32, and the address that the app opens: of the `begun` one, to ask for its code
   * again, or a new one. It counts once a code is shown.
   */
  begin(label: string, issuer: string, begun = ''): { readonly secret: string; readonly uri: string } {
    const secret = isSecret(begun) ? begun : new Secret({ size: 20 }).base32
    return { secret, uri: new TOTP({ secret: Secret.fromBase32(secret), label, issuer, period }).toString() }
  }

  /** Stores an app whose code is right; returns fresh recovery codes. AppError `invalid`. */
  async set(user: string, secret: string, code: string, from?: string): Promise<readonly string[]> {
    const step = isSecret(secret) ? this.#stepOf(secret, code) : undefined
    if (step === undefined) throw new AppError('invalid', 'the code is wrong')
    const codes = newCodes()
    await this.#accounts.change(user, (account) => ({
      ...account,
      totp: { secret, usedStep: step, createdAt: this.#clock.now(), ...(from !== undefined && { from }) },
      recoveryCodes: codes.map(recoveryHash),
    }))
    return codes
  }

  /** True when this is a code of the user's app, or a recovery code; either counts once. */
  async spend(user: string, code: string): Promise<boolean> {
    let right = false
    await this.#accounts.change(user, (account) => {
      const { totp, recoveryCodes = [] } = account
      const step = totp && this.#stepOf(totp.secret, code)
      const hash = recoveryHash(code)
      const isRecovery = hasSecondFactor(account) && recoveryCodes.includes(hash)
      right = isRecovery || (step !== undefined && step > totp!.usedStep)
      if (!right) return account
      return isRecovery
        ? { ...account, recoveryCodes: recoveryCodes.filter((one) => one !== hash) }
        : { ...account, totp: { ...totp!, usedStep: step! } }
    })
    return right
  }

  /** Returns fresh recovery codes; the old ones end. */
  async renewCodes(user: string): Promise<readonly string[]> {
    const codes = newCodes()
    await this.#accounts.change(user, (account) => ({ ...account, recoveryCodes: codes.map(recoveryHash) }))
    return codes
  }

  /** Removes one factor; recovery codes go with the last one. AppError `conflict` when the last one must stay. */
  async remove(
    user: string,
    which: { totp?: true; passkey?: string; codes?: true },
    needed: boolean,
  ): Promise<void> {
    await this.#accounts.change(user, (account) => {
      const { totp, passkeys = [], recoveryCodes } = account
      const kept = passkeys.filter(({ id }) => id !== which.passkey)
      const left: Proofs = {
        ...withoutProofs(account),
        ...(totp && !which.totp && { totp }),
        ...(kept.length > 0 && { passkeys: kept }),
      }
      if (hasSecondFactor(left)) return { ...left, ...(recoveryCodes && !which.codes && { recoveryCodes }) }
      if (needed) throw new AppError('conflict', 'your role needs a second factor: add another one first')
      return left
    })
  }

  #stepOf(secret: string, code: string): number | undefined {
    const token = code.replaceAll(/\s/g, '')
    if (!/^\d{6}$/.test(token)) return undefined
    const timestamp = this.#clock.now()
    const delta = new TOTP({ secret: Secret.fromBase32(secret), period }).validate({
      token,
      window: 1,
      timestamp,
    })
    return delta === null ? undefined : Math.floor(timestamp / 1000 / period) + delta
  }
}

function isSecret(text: string): boolean {
  return /^[A-Z2-7]{32}$/.test(text)
}

/** Makes recovery codes of 60 bits each, in groups that can be written down and typed. */
function newCodes(): string[] {
  return Array.from({ length: numberOfCodes }, () => {
    const letters = sha256(randomSecret(''))
      .toLowerCase()
      .replaceAll(/[^a-z2-9]/g, '')
    return letters.slice(0, 12).replaceAll(/(.{4})(?=.)/g, '$1-')
  })
}

function recoveryHash(code: string): string {
  return sha256(`recovery ${code.toLowerCase().replaceAll(/[^a-z0-9]/g, '')}`)
}
