/** Passkeys (WebAuthn Level 3): adding them, and signing in with them; each challenge is answered once. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { AppError } from '#leaf/errors.ts'
import { hmac, randomId, sameText, sha256 } from '#leaf/secrets.ts'
import type { Collection, Stored } from '#state/store.ts'
import type { Accounts, Passkey, Proofs } from './accounts.ts'
import type { Parts } from './holders.ts'

interface UsedChallenge extends Stored {
  readonly expiresAt: number
}

const challengeMilliseconds = 600_000
const mostPasskeys = 20

export interface PasskeyParts extends Omit<Parts, 'people'> {
  readonly accounts: Accounts<Proofs>
  /** The address of the pages where passkeys are made and proved. */
  readonly publicUrl: () => string
}

/** The passkeys of all users. */
export class Passkeys {
  readonly #deps: PasskeyParts
  readonly #used: Collection<UsedChallenge>

  constructor(deps: PasskeyParts) {
    this.#deps = deps
    this.#used = deps.store.collection({ name: 'users.used_challenge', expires: 'expiresAt' })
  }

  /** Returns the options with which the browser makes a passkey; `key` is the secret of that browser. */
  async creation(key: string, account: Proofs, names: { user: string; site: string }): Promise<object> {
    const { generateRegistrationOptions } = await import('@simplewebauthn/server')
    return generateRegistrationOptions({
      rpName: names.site,
      rpID: this.#host(),
      userName: account.id,
      userDisplayName: names.user,
      // The user id must not tell who they are (WebAuthn §14.6.1).
      userID: new Uint8Array(Buffer.from(sha256(`passkey ${account.id}`), 'base64url')),
      challenge: this.#challenge(key),
      excludeCredentials: (account.passkeys ?? []).map(({ id }) => ({ id })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
  }

  /** Stores the passkey that the browser made. AppError `invalid`. */
  async add(key: string, user: string, name: string, answer: string, from?: string): Promise<void> {
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
    const made = await this.#checked(() =>
      verifyRegistrationResponse({
        response: JSON.parse(answer) as RegistrationResponseJSON,
        expectedChallenge: (challenge) => this.#isOurs(key, challenge),
        expectedOrigin: this.#deps.publicUrl(),
        expectedRPID: this.#host(),
      }),
    )
    if (!made.verified) throw notMade()
    const { id, publicKey, counter, transports } = made.registrationInfo.credential
    await this.#spend(answer)
    const passkey: Passkey = {
      id,
      name: name.trim().slice(0, 60),
      publicKey: Buffer.from(publicKey).toString('base64url'),
      counter,
      ...(transports && { transports }),
      createdAt: this.#deps.clock.now(),
      ...(from !== undefined && { from }),
    }
    await this.#deps.accounts.change(user, (account) => {
      const known = account.passkeys ?? []
      if (known.length >= mostPasskeys)
        throw new AppError('invalid', `you have ${mostPasskeys} passkeys already`)
      return { ...account, passkeys: [...known.filter((one) => one.id !== id), passkey] }
    })
  }

  /** Returns the options with which the browser proves a passkey. */
  async request(key: string): Promise<object> {
    const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
    return generateAuthenticationOptions({
      rpID: this.#host(),
      challenge: this.#challenge(key),
      userVerification: 'required',
    })
  }

  /** Returns the user whose passkey the browser proved; undefined when it proved none. */
  async prove(key: string, answer: string, from: string): Promise<string | undefined> {
    try {
      return await this.#proven(key, answer, from)
    } catch (error) {
      if (error instanceof AppError) return undefined
      throw error
    }
  }

  async #proven(key: string, answer: string, from: string): Promise<string | undefined> {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
    const response = await this.#checked(() => JSON.parse(answer) as AuthenticationResponseJSON)
    if (typeof response?.id !== 'string') return undefined
    const owner = await this.#deps.accounts.withPasskey(response.id)
    const known = owner?.passkeys?.find(({ id }) => id === response.id)
    if (!owner || !known) return undefined
    const proof = await this.#checked(() =>
      verifyAuthenticationResponse({
        response,
        expectedChallenge: (challenge) => this.#isOurs(key, challenge),
        expectedOrigin: this.#deps.publicUrl(),
        expectedRPID: this.#host(),
        credential: {
          id: known.id,
          publicKey: new Uint8Array(Buffer.from(known.publicKey, 'base64url')),
          counter: known.counter,
        },
      }),
    )
    if (!proof.verified) return undefined
    await this.#spend(answer)
    const { newCounter: counter } = proof.authenticationInfo
    const used = { counter, usedAt: this.#deps.clock.now(), usedFrom: from }
    await this.#deps.accounts.change(owner.id, (account) => ({
      ...account,
      passkeys: (account.passkeys ?? []).map((one) => (one.id === known.id ? { ...one, ...used } : one)),
    }))
    return owner.id
  }

  /** Runs the library, whose errors are about what the browser sent. */
  async #checked<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (cause) {
      throw new AppError('invalid', notMade().message, { cause })
    }
  }

  /** Makes a challenge, valid for this browser and a while; nothing is stored until it is used. */
  #challenge(key: string): string {
    const parts = `${randomId()}.${this.#deps.clock.now()}`
    return `${parts}.${hmac(key, `passkey ${parts}`)}`
  }

  #isOurs(key: string, challenge: string): boolean {
    const [random = '', time = '', proof = ''] = Buffer.from(challenge, 'base64url').toString().split('.')
    const age = this.#deps.clock.now() - Number(time)
    return age >= 0 && age <= challengeMilliseconds && sameText(proof, hmac(key, `passkey ${random}.${time}`))
  }

  /** Spends the challenge of an answer. AppError `conflict` for an answer that came before. */
  async #spend(answer: string): Promise<void> {
    const { clientDataJSON } = (JSON.parse(answer) as { response: { clientDataJSON: string } }).response
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as {
      challenge: string
    }
    await this.#used.insert({
      id: sha256(challenge),
      expiresAt: this.#deps.clock.now() + 2 * challengeMilliseconds,
    })
  }

  #host(): string {
    return new URL(this.#deps.publicUrl()).hostname
  }
}

function notMade(): AppError {
  return new AppError('invalid', 'the passkey could not be checked; please try again')
}
