/**
 * Calls that wait for their user on a page of ours (`confirm: page`). No model can approve one: the decision needs the
 * user's own browser session, is bound to the user, the client, the tool and the exact arguments, works once and expires.
 */
import { actorOf } from '../audit/event.ts'
import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { randomId, sha256 } from '../core/secrets.ts'
import type { WaitingCall } from '../core/waiting-call.ts'
import type { OfferedTool } from '../tools/catalogue.ts'
import { peerOf } from './protocol.ts'
import { canonical } from './rounds.ts'

const lifetimeMs = 900_000
const maxPerUser = 50
const maxArgumentBytes = 65_536

/** An approval with what only this file needs: whose exact call it is, and who waits for the decision. */
interface Held extends WaitingCall {
  readonly key: string
  state: WaitingCall['state']
  readonly waiting: Set<() => void>
}

/** Every call that waits for a decision, or for its caller to come back after one. */
export class Approvals {
  readonly #clock: Clock
  readonly #audit: Audit
  readonly #publicUrl: () => string
  readonly #held = new Map<string, Held>()

  constructor(deps: { clock: Clock; audit: Audit; publicUrl: () => string }) {
    this.#clock = deps.clock
    this.#audit = deps.audit
    this.#publicUrl = deps.publicUrl
  }

  /** Where the user decides. */
  urlOf(approval: WaitingCall): string {
    return `${this.#publicUrl()}/approvals/${approval.id}`
  }

  /** The approval that a call needs: the one that it asked for before, or a new one. AppError `unavailable` when too many wait. */
  request(principal: Principal, { tool, annotations }: OfferedTool, args: unknown): WaitingCall {
    this.#forget()
    const key = keyOf(principal, tool.name, args)
    const known = [...this.#held.values()].find((held) => held.key === key)
    if (known) return known
    if (this.waitingFor(principal.user).length >= maxPerUser) {
      throw new AppError('unavailable', 'too many calls wait for approval; decide or let them expire first')
    }
    if (canonical(args).length > maxArgumentBytes) {
      throw new AppError('invalid', 'the arguments are too long to be shown to the user for approval')
    }
    this.#audit.requireWritable()
    const now = this.#clock.now()
    const held: Held = {
      id: randomId(),
      key,
      user: principal.user,
      ...(principal.client && { client: principal.client }),
      tool: tool.name,
      title: tool.title,
      destructive: annotations.destructiveHint,
      arguments: structuredClone(args),
      createdAt: now,
      expiresAt: now + lifetimeMs,
      state: 'pending',
      waiting: new Set(),
    }
    this.#held.set(held.id, held)
    this.#tell(principal, held, 'tool.approval_request', 'ok')
    return held
  }

  /** Uses up the approval of exactly this call; false when there is none. */
  take(principal: Principal, tool: string, args: unknown): boolean {
    this.#forget()
    const key = keyOf(principal, tool, args)
    const held = [...this.#held.values()].find((one) => one.key === key)
    if (held?.state !== 'approved') return false
    this.#held.delete(held.id)
    return true
  }

  /** Whether the user refused exactly this call; asking again is a new question. */
  takeDenial(principal: Principal, tool: string, args: unknown): boolean {
    const key = keyOf(principal, tool, args)
    const held = [...this.#held.values()].find((one) => one.key === key)
    if (held?.state !== 'denied') return false
    this.#held.delete(held.id)
    return true
  }

  /** What waits for this user's decision, oldest first. */
  waitingFor(user: string): readonly WaitingCall[] {
    this.#forget()
    return [...this.#held.values()].filter((held) => held.user === user && held.state === 'pending')
  }

  /** An approval of the user's own; AppError `not_found` for another's, an expired one and none alike. */
  find(user: string, id: string): WaitingCall {
    this.#forget()
    const held = this.#held.get(id)
    if (held?.user !== user) throw new AppError('not_found', 'no such approval; it may have expired')
    return held
  }

  /** The user's decision. `principal` is the user at the browser. AppError `conflict` when it was decided before. */
  decide(principal: Principal, id: string, decision: 'approve' | 'deny'): WaitingCall {
    const held = this.find(principal.user, id) as Held
    if (held.state !== 'pending') throw new AppError('conflict', `this call was ${held.state} already`)
    this.#audit.requireWritable()
    held.state = decision === 'approve' ? 'approved' : 'denied'
    this.#tell(principal, held, `tool.${decision}`, decision === 'approve' ? 'ok' : 'denied')
    for (const wake of held.waiting) wake()
    return held
  }

  /** Waits for a decision, but no longer than this many milliseconds or until the call ends. */
  decided(approval: WaitingCall, milliseconds: number, signal: AbortSignal): Promise<void> {
    const held = this.#held.get(approval.id)
    if (held?.state !== 'pending' || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        held.waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const timer = setTimeout(wake, milliseconds).unref()
      held.waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  // What led to a decision is worth as much as the decision: the exact arguments are kept.
  #tell(principal: Principal, held: Held, type: string, status: 'ok' | 'denied'): void {
    const data = { approval: held.id, arguments: held.arguments as Record<string, unknown> }
    void this.#audit.record({ ...actorOf(principal), type, status, target: held.tool, data }).catch(() => {})
  }

  /** Expired approvals, decided or not, are as if they had never been. */
  #forget(): void {
    const now = this.#clock.now()
    for (const held of this.#held.values()) {
      if (held.expiresAt > now) continue
      this.#held.delete(held.id)
      for (const wake of held.waiting) wake()
    }
  }
}

/** Equal for exactly the same call: of the same user through the same client, with the same arguments. */
function keyOf(principal: Principal, tool: string, args: unknown): string {
  return sha256(`${peerOf(principal)}\n${tool}\n${canonical(args)}`)
}
