/**
 * Calls that wait for a person: for an answer of their client, or for a decision on a page of ours, which no model can
 * make since it needs the user's own browser session. However the person is asked, a suspended call has one life: it
 * belongs to a user, a client and exact arguments, is settled once, is used up by coming again, and expires.
 */
import type { Audit } from '../audit/audit.ts'
import { eventOf } from '../audit/event.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { randomId, sha256 } from '../core/secrets.ts'
import type { WaitingApproval, WaitingQuestion, Suspended } from '../core/suspended.ts'
import type { OfferedTool } from '../tools/catalogue.ts'
import type { Store } from '../store/store.ts'
import { type WaitingWork, WaitingRoom } from './waiting-room.ts'
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

  constructor(deps: { store: Store; clock: Clock; audit: Audit; publicUrl: () => string }) {
    this.#clock = deps.clock
    this.#audit = deps.audit
    this.#publicUrl = deps.publicUrl
    this.#room = new WaitingRoom(deps.store)
  }

  /** Suspends a call until the client has answered what is asked. */
  async question(
    principal: Principal,
    key: string,
    asked: readonly string[],
    answers: Json,
  ): Promise<WaitingQuestion> {
    if (canonical(answers).length > maxBytes)
      throw new AppError('invalid', 'the answers are too long to be kept')
    const question: WaitingQuestion = {
      ...this.#begun(principal, key, questionMs),
      kind: 'question',
      asked,
      answers,
      state: 'pending',
    }
    await this.#room.change((calls) => suspend(calls, question))
    return question
  }

  /** The client's own answer to a question of its peer; for any other there is none. */
  async answer(
    principal: Principal,
    id: unknown,
    state: 'answered' | 'denied',
    answers: Json,
  ): Promise<void> {
    const isOpen = (found: Suspended | undefined): found is WaitingQuestion =>
      found?.kind === 'question' &&
      found.state === 'pending' &&
      found.user === principal.user &&
      found.client?.id === principal.client?.id
    // Whoever answers what nobody asked writes nothing.
    if (typeof id !== 'string' || !isOpen(await this.#room.get(id))) return
    await this.#room.change(async (calls) => {
      const found = await calls.get(id)
      if (isOpen(found)) await calls.put({ ...found, answers, state })
    })
  }

  /** Uses up what was asked for exactly this call. */
  async resume(key: string, id: unknown): Promise<WaitingQuestion | undefined> {
    const isMeant = (found: Suspended | undefined): found is WaitingQuestion =>
      found?.kind === 'question' && found.key === key
    if (typeof id !== 'string' || !isMeant(await this.#room.get(id))) return undefined
    return await this.#room.change(async (calls) => {
      const found = await calls.get(id)
      if (!isMeant(found)) return undefined
      await calls.delete(id)
      return found
    })
  }

  /** Where the user decides. */
  urlOf(approval: WaitingApproval): string {
    return `${this.#publicUrl()}/approvals/${approval.id}`
  }

  /** The approval that a call needs: the one that it asked for before, or a new one. AppError `unavailable` when too many wait. */
  async request(
    principal: Principal,
    { tool, annotations }: OfferedTool,
    args: unknown,
  ): Promise<WaitingApproval> {
    const key = callKey(principal, tool.name, args)
    const isKnown = (one: Suspended): one is WaitingApproval => one.kind === 'approval' && one.key === key
    const known = (await this.#room.of(principal.user, key)).find(isKnown)
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
    return await this.#room.change(async (calls) => {
      // Another daemon may have been asked the same meanwhile.
      const other = (await calls.of(principal.user)).find(isKnown)
      if (other) return other
      await suspend(calls, approval)
      await this.#tell(calls, principal, approval, 'tool.approval_request', 'ok')
      return approval
    })
  }

  /** Uses up the user's decision on exactly this call; asking again after it is a new question. */
  async decision(
    principal: Principal,
    tool: string,
    args: unknown,
  ): Promise<'approved' | 'denied' | undefined> {
    const key = callKey(principal, tool, args)
    const waiting = await this.#room.of(principal.user, key)
    const id = waiting.find((one) => one.kind === 'approval' && one.state !== 'pending')?.id
    if (id === undefined) return undefined
    return await this.#room.change(async (calls) => {
      const found = await calls.get(id)
      if (found?.kind !== 'approval' || found.state === 'pending') return undefined
      await calls.delete(id)
      return found.state
    })
  }

  /** What waits for this user's decision, oldest first. */
  async waitingFor(user: string): Promise<readonly WaitingApproval[]> {
    const waiting = await this.#room.of(user)
    return waiting.filter((one): one is WaitingApproval => one.kind === 'approval' && one.state === 'pending')
  }

  /** An approval of the user's own; AppError `not_found` for another's, an expired one and none alike. */
  async find(user: string, id: string): Promise<WaitingApproval> {
    return ownApproval(user, await this.#room.get(id))
  }

  /** The user's decision. `principal` is the user at the browser. AppError `conflict` when it was decided before. */
  async decide(principal: Principal, id: string, decision: 'approve' | 'deny'): Promise<WaitingApproval> {
    this.#audit.requireWritable()
    return await this.#room.change(async (calls) => {
      const approval = ownApproval(principal.user, await calls.get(id))
      if (approval.state !== 'pending')
        throw new AppError('conflict', `this call was ${approval.state} already`)
      const decided: WaitingApproval = { ...approval, state: decision === 'approve' ? 'approved' : 'denied' }
      await calls.put(decided)
      const status = decision === 'approve' ? 'ok' : 'denied'
      await this.#tell(calls, principal, decided, `tool.${decision}`, status)
      return decided
    })
  }

  /** Waits until it is settled, but no longer than this many milliseconds or until the call ends. */
  async settled(call: Suspended, milliseconds: number, signal: AbortSignal): Promise<void> {
    await this.#room.settled(call.id, milliseconds, signal)
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

  // What led to a decision is worth as much as the decision: the exact arguments are kept.
  async #tell(
    { transaction }: WaitingWork,
    principal: Principal,
    approval: WaitingApproval,
    type: string,
    status: 'ok' | 'denied',
  ): Promise<void> {
    const data = { approval: approval.id, arguments: approval.arguments as Record<string, unknown> }
    const event = eventOf(principal, { type, status, target: approval.tool, data })
    await this.#audit.recordIn(transaction, event)
  }
}

function ownApproval(user: string, found: Suspended | undefined): WaitingApproval {
  if (found?.kind === 'approval' && found.user === user) return found
  throw new AppError('not_found', 'no such approval; it may have expired')
}

/** A client that asks and never comes back makes room with its oldest question; decisions are never dropped. */
async function suspend(calls: WaitingWork, call: Suspended): Promise<void> {
  const waiting = await calls.of(call.user)
  const mine = waiting.filter((one) => one.kind === call.kind && one.state === 'pending')
  if (mine.length >= maxPerUser) {
    if (call.kind === 'approval')
      throw new AppError('unavailable', 'too many calls wait for approval; decide or let them expire first')
    await calls.delete(mine[0]!.id)
  }
  await calls.put(call)
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
