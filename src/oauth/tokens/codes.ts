/** Authorization codes: issued once, redeemed once, bound to everything in the request. */
import type { Clock } from '#leaf/clock.ts'
import { randomSecret, sha256 } from '#leaf/secrets.ts'
import type { Settings } from '../../core/settings.ts'
import type { Collection, Store, Stored, Transaction } from '#state/store.ts'
import { codeRecords, type Code } from '../records.ts'

/** The request that a code stands for. */
export type CodeRequest = Omit<Code, 'id' | 'endsAt' | 'usedAt' | 'family' | 'forgetAt'>

const hour = 3_600_000

/** What already gave a code. */
interface SpentForm extends Stored {
  readonly endsAt: number
}

/** The codes under way or lately used. */
export class Codes {
  readonly #clock: Clock
  readonly #settings: () => Settings
  readonly #codes: Collection<Code>
  readonly #forms: Collection<SpentForm>

  constructor(deps: { store: Store; clock: Clock; settings: () => Settings }) {
    this.#clock = deps.clock
    this.#settings = deps.settings
    this.#codes = deps.store.collection(codeRecords)
    this.#forms = deps.store.collection<SpentForm>({ name: 'oauth.form', expires: 'endsAt' })
  }

  /** Issues a code, which is shown this once. */
  async issueIn(tx: Transaction, request: CodeRequest): Promise<string> {
    const code = randomSecret('ac_cd_')
    const now = this.#clock.now()
    await tx.in(this.#codes).insert({
      ...request,
      id: sha256(code),
      endsAt: now + this.#settings().oauth.code_seconds * 1000,
      forgetAt: now + hour,
    })
    return code
  }

  /** Spends a consent form or a pushed request, which gives one code; true when it was still unused. */
  async spendFormIn(tx: Transaction, token: string): Promise<boolean> {
    if (await this.isSpentIn(tx, token)) return false
    await tx.in(this.#forms).insert({ id: sha256(token), endsAt: this.#clock.now() + hour })
    return true
  }

  /** True when a consent form gave its code. */
  async isSpentIn(tx: Transaction, token: string): Promise<boolean> {
    return (await tx.in(this.#forms).get(sha256(token))) !== undefined
  }

  /** Returns the code of that text, used or not. */
  async findIn(tx: Transaction, code: string): Promise<Code | undefined> {
    return tx.in(this.#codes).get(sha256(code))
  }

  /** True when the code has expired. */
  isOver(code: Code): boolean {
    return code.endsAt <= this.#clock.now()
  }

  /** Marks a code as used, with the id of the family that will come of it. */
  async spendIn(tx: Transaction, code: Code, family: string): Promise<void> {
    await tx.in(this.#codes).put({ ...code, usedAt: this.#clock.now(), family })
  }
}
