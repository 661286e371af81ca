/** Authorization codes: issued once, redeemed once, bound to everything that the request said. */
import type { Clock } from '../core/clock.ts'
import { randomSecret, sha256 } from '../core/secrets.ts'
import type { Settings } from '../core/settings.ts'
import type { Collection, Store, Stored, Transaction } from '../store/store.ts'
import { codeRecords, type Code } from './records.ts'

/** What a code stands for. */
export type CodeRequest = Omit<Code, 'id' | 'endsAt' | 'usedAt' | 'family' | 'forgetAt'>

const hour = 3_600_000

/** A consent form that gave a code. */
interface SpentForm extends Stored {
  readonly endsAt: number
}

/** The codes that are under way or were lately used. */
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

  /** Issues a code, shown this once. */
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

  /** Spends a consent form, which gives one code: whether it was still good. */
  async spendFormIn(tx: Transaction, token: string): Promise<boolean> {
    const [forms, id] = [tx.in(this.#forms), sha256(token)]
    if (await forms.get(id)) return false
    await forms.insert({ id, endsAt: this.#clock.now() + hour })
    return true
  }

  /** The code of that text, used or not. */
  async findIn(tx: Transaction, code: string): Promise<Code | undefined> {
    return tx.in(this.#codes).get(sha256(code))
  }

  /** Whether its time is over. */
  isOver(code: Code): boolean {
    return code.endsAt <= this.#clock.now()
  }

  /** Marks it used, by what will come of it. */
  async spendIn(tx: Transaction, code: Code, family: string): Promise<void> {
    await tx.in(this.#codes).put({ ...code, usedAt: this.#clock.now(), family })
  }
}
