/**
 * Multi-round-trip requests of 2026-07-28. The request state is signed, says whose call it is, which method, name and
 * exact arguments, what was asked and answered so far, expires, and works once.
 */
import type { Clock } from '../core/clock.ts'
import { hmac, randomId, sha256 } from '../core/secrets.ts'
import type { ClientQuestion } from '../tools/tool.ts'
import { codes } from './codes.ts'
import { type Call, type Json, JsonRpcError, peerOf } from './protocol.ts'
import { seal, unseal } from './sealed.ts'

const lifetimeMs = 600_000
const maxSpent = 10_000
const maxStateLength = 65_536

/** What an earlier round left with the client. */
export interface RoundState {
  readonly asked: readonly string[]
  readonly answers: Json
}

/** The state as the client carries it. */
interface Sealed extends RoundState {
  readonly id: string
  readonly issued: number
}

/** Makes and spends request states. */
export class Rounds {
  readonly #key: string | Uint8Array
  readonly #clock: Clock
  readonly #spent = new Map<string, number>()
  /** States issued up to here count as spent: before this process began, or forgotten for want of room. */
  #floor: number

  constructor(key: string | Uint8Array, clock: Clock) {
    // A key for this process alone: another one could not know what was spent here.
    this.#key = hmac(key, `rounds ${randomId()}`)
    this.#clock = clock
    this.#floor = -Infinity
  }

  /** The state that a request brings back, spent by this. JsonRpcError -32602 unless it is ours, fresh and for this call. */
  open(call: Call): RoundState | undefined {
    const text = call.params['requestState']
    if (text === undefined) return undefined
    const state =
      typeof text === 'string' && text.length <= maxStateLength
        ? (unseal(this.#key, purposeOf(call), text) as Sealed | undefined)
        : undefined
    const now = this.#clock.now()
    if (
      !state ||
      state.issued <= this.#floor ||
      state.issued + lifetimeMs < now ||
      this.#spent.has(state.id)
    ) {
      throw new JsonRpcError(
        codes.invalidParams,
        'params.requestState: not valid for this request, expired or used before',
      )
    }
    this.#spend(state, now)
    return state
  }

  /** The result that asks the client, and tells it what to bring back. */
  inputRequired(call: Call, asked: Readonly<Record<string, ClientQuestion>>, answers: Json): Json {
    const state: Sealed = {
      id: randomId(),
      issued: this.#clock.now(),
      asked: Object.keys(asked),
      answers,
    }
    return {
      resultType: 'input_required',
      inputRequests: asked,
      requestState: seal(this.#key, purposeOf(call), state),
    }
  }

  /** Remembers that a state was used until it expires; when there are too many, older ones count as used. */
  #spend(state: Sealed, now: number): void {
    this.#spent.set(state.id, state.issued)
    for (const [id, issued] of this.#spent) {
      if (issued + lifetimeMs >= now && this.#spent.size <= maxSpent) break
      this.#spent.delete(id)
      if (issued + lifetimeMs >= now) this.#floor = Math.max(this.#floor, issued)
    }
  }
}

/** What a state is bound to. */
function purposeOf({ principal, method, params }: Call): string {
  const rest = Object.fromEntries(
    Object.entries(params).filter(([name]) => !['_meta', 'inputResponses', 'requestState'].includes(name)),
  )
  return `round\n${peerOf(principal)}\n${method}\n${sha256(canonical(rest))}`
}

/** A JSON value as text that is equal for equal values, whatever the order of keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}
