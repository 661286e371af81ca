/**
 * Calls that wait for a person: for an answer of their client, or for a decision on a page of ours, which no model can
 * make since it needs the user's own browser session. However the person is asked, a suspended call has one life: it
 * belongs to a user, a client and exact arguments, is settled once, is used up by coming again, and expires.
 */
import type { Audit } from '../audit/audit.ts'
import { actorOf } from '../audit/event.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { randomId, sha256 } from '../core/secrets.ts'
import type { WaitingApproval, WaitingQuestion, Suspended } from '../core/suspended.ts'
import type { OfferedTool } from '../tools/catalogue.ts'
import { WaitingRoom } from './waiting-room.ts'
import { peerOf } from './call.ts'
import type { Json } from './json-rpc.ts'

const approvalMs = 900_000
const questionMs = 600_000
const maxPerUser = 50
const maxBytes = 65_536

/** Every call that waits for a person, or for its caller to come back with what the person said. */
export class SuspendedCalls {
  readonly #clock: Clock
  readonly #audit: Audit
  readonly #publicUrl: () => string
  readonly #room: WaitingRoom

  constructor(deps: { clock: Clock; audit: Audit; publicUrl: () => string }) {
    this.#clock = deps.clock
    this.#audit = deps.audit
    this.#publicUrl = deps.publicUrl
    this.#room = new WaitingRoom(deps.clock)
  }

  /** Suspends a call until the client has answered what is asked. */
  question(principal: Principal, key: string, asked: readonly string[], answers: Json): WaitingQuestion {
    if (canonical(answers).length > maxBytes)
      throw new AppError('invalid', 'the answers are too long to be kept')
    const question: WaitingQuestion = {
      ...this.#begun(principal, key, questionMs),
      kind: 'question',
      asked,
      answers,
      state: 'pending',
    }
    this.#suspend(question)
    return question
  }

  /** The client's own answer to a question of its peer; for any other there is none. */
  answer(principal: Principal, id: unknown, state: 'answered' | 'denied', answers: Json): void {
    const found = typeof id === 'string' ? this.#room.get(id) : undefined
    if (found?.kind !== 'question' || found.state !== 'pending') return
    if (found.user === principal.user && found.client?.id === principal.client?.id)
      this.#room.put({ ...found, answers, state })
  }

  /** Uses up what was asked for exactly this call. */
  resume(key: string, id: unknown): WaitingQuestion | undefined {
    const found = typeof id === 'string' ? this.#room.get(id) : undefined
    if (found?.kind !== 'question' || found.key !== key) return undefined
    this.#room.delete(found.id)
    return found
  }

  /** Where the user decides. */
  urlOf(approval: WaitingApproval): string {
    return `${this.#publicUrl()}/approvals/${approval.id}`
  }

  /** The approval that a call needs: the one that it asked for before, or a new one. AppError `unavailable` when too many wait. */
  request(principal: Principal, { tool, annotations }: OfferedTool, args: unknown): WaitingApproval {
    const key = callKey(principal, tool.name, args)
    const known = this.#approvals().find((one) => one.key === key)
    if (known) return known
    if (canonical(args).length > maxBytes)
      throw new AppError('invalid', 'the arguments are too long to be shown to the user for approval')
    this.#audit.requireWritable()
    const approval: WaitingApproval = {
      ...this.#begun(principal, key, approvalMs),
      kind: 'approval',
      tool: tool.name,
      title: tool.title,
      destructive: annotations.destructiveHint,
      arguments: structuredClone(args),
      state: 'pending',
    }
    this.#suspend(approval)
    this.#tell(principal, approval, 'tool.approval_request', 'ok')
    return approval
  }

  /** Uses up the user's decision on exactly this call; asking again after it is a new question. */
  decision(principal: Principal, tool: string, args: unknown): 'approved' | 'denied' | undefined {
    const key = callKey(principal, tool, args)
    const found = this.#approvals().find((one) => one.key === key)
    if (!found || found.state === 'pending') return undefined
    this.#room.delete(found.id)
    return found.state
  }

  /** What waits for this user's decision, oldest first. */
  waitingFor(user: string): readonly WaitingApproval[] {
    return this.#approvals().filter((one) => one.user === user && one.state === 'pending')
  }

  /** An approval of the user's own; AppError `not_found` for another's, an expired one and none alike. */
  find(user: string, id: string): WaitingApproval {
    const found = this.#room.get(id)
    if (found?.kind === 'approval' && found.user === user) return found
    throw new AppError('not_found', 'no such approval; it may have expired')
  }

  /** The user's decision. `principal` is the user at the browser. AppError `conflict` when it was decided before. */
  decide(principal: Principal, id: string, decision: 'approve' | 'deny'): WaitingApproval {
    const approval = this.find(principal.user, id)
    if (approval.state !== 'pending')
      throw new AppError('conflict', `this call was ${approval.state} already`)
    this.#audit.requireWritable()
    const decided: WaitingApproval = { ...approval, state: decision === 'approve' ? 'approved' : 'denied' }
    this.#room.put(decided)
    this.#tell(principal, decided, `tool.${decision}`, decision === 'approve' ? 'ok' : 'denied')
    return decided
  }

  /** Waits until it is settled, but no longer than this many milliseconds or until the call ends. */
  async settled(call: Suspended, milliseconds: number, signal: AbortSignal): Promise<void> {
    if (this.#room.get(call.id)?.state === 'pending') await this.#room.changed(call.id, milliseconds, signal)
  }

  #approvals(): readonly WaitingApproval[] {
    return this.#room.all().filter((call) => call.kind === 'approval')
  }

  #begun(principal: Principal, key: string, milliseconds: number): Omit<Suspended, 'kind' | 'state'> {
    const now = this.#clock.now()
    return {
      id: randomId(),
      key,
      user: principal.user,
      ...(principal.client && { client: principal.client }),
      createdAt: now,
      expiresAt: now + milliseconds,
    }
  }

  /** A client that asks and never comes back makes room with its oldest question; decisions are never dropped. */
  #suspend(call: Suspended): void {
    const mine = this.#room
      .all()
      .filter((one) => one.user === call.user && one.kind === call.kind && one.state === 'pending')
    if (mine.length >= maxPerUser) {
      if (call.kind === 'approval')
        throw new AppError('unavailable', 'too many calls wait for approval; decide or let them expire first')
      this.#room.delete(mine[0]!.id)
    }
    this.#room.put(call)
  }

  // What led to a decision is worth as much as the decision: the exact arguments are kept.
  #tell(principal: Principal, approval: WaitingApproval, type: string, status: 'ok' | 'denied'): void {
    const data = { approval: approval.id, arguments: approval.arguments as Record<string, unknown> }
    void this.#audit
      .record({ ...actorOf(principal), type, status, target: approval.tool, data })
      .catch(() => {})
  }
}

/** Equal for exactly the same call: of the same user through the same client, with the same arguments. */
export function callKey(principal: Principal, name: string, args: unknown): string {
  return sha256(`${peerOf(principal)}\n${name}\n${canonical(args)}`)
}

/** A JSON value as text that is equal for equal values, whatever the order of keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}
