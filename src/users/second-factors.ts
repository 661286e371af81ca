/** Codes of an authenticator app (RFC 6238), and the recovery codes for the day when it is lost. */
import { Secret, TOTP } from 'otpauth'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { randomSecret, sha256 } from '../core/secrets.ts'
import { hasSecondFactor, type Account, type Accounts } from './accounts.ts'

const period = 30
const numberOfCodes = 10

/** What an app needs to know of a new authenticator. */
export interface NewAuthenticator {
  /** Base32, which people may type. */
  readonly secret: string
  /** `otpauth://…`, which the app opens. */
  readonly uri: string
}

/** The second factors of all users that are codes. */
export class SecondFactors {
  readonly #clock: Clock
  readonly #accounts: Accounts

  constructor(deps: { clock: Clock; accounts: Accounts }) {
    this.#clock = deps.clock
    this.#accounts = deps.accounts
  }

  /** A new secret for an app, or the same again for the page that asks for its code; it counts once a code of it was shown. */
  begin(label: string, issuer: string, secret = new Secret({ size: 20 }).base32): NewAuthenticator {
    return { secret, uri: new TOTP({ secret: Secret.fromBase32(secret), label, issuer, period }).toString() }
  }

  /** Keeps an app whose code is right; answers fresh recovery codes. AppError `invalid`. */
  async set(user: string, secret: string, code: string): Promise<readonly string[]> {
    const step = /^[A-Z2-7]{32}$/.test(secret) ? this.#stepOf(secret, code) : undefined
    if (step === undefined) throw new AppError('invalid', 'the code is wrong')
    const codes = newCodes()
    await this.#accounts.change(user, (account) => ({
      ...account,
      totp: { secret, usedStep: step },
      recoveryCodes: codes.map(recoveryHash),
    }))
    return codes
  }

  /** Whether this is a code of the user's app, or a recovery code; either is good for once. */
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

  /** Fresh recovery codes; the old ones end. */
  async renewCodes(user: string): Promise<readonly string[]> {
    const codes = newCodes()
    await this.#accounts.change(user, (account) => ({ ...account, recoveryCodes: codes.map(recoveryHash) }))
    return codes
  }

  /** Forgets one factor, or all; recovery codes go with the last one. AppError `conflict` when the last one must stay. */
  async remove(
    user: string,
    which: { totp?: true; passkey?: string; all?: true },
    needed: boolean,
  ): Promise<void> {
    await this.#accounts.change(user, (account) => {
      const { totp, passkeys = [], recoveryCodes, ...rest } = account
      const kept = which.all ? [] : passkeys.filter(({ id }) => id !== which.passkey)
      const left: Account = {
        ...rest,
        ...(totp && !which.totp && !which.all && { totp }),
        ...(kept.length > 0 && { passkeys: kept }),
      }
      if (hasSecondFactor(left)) return { ...left, ...(recoveryCodes && { recoveryCodes }) }
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

/** 60 bits each, in groups that can be written down and typed. */
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
