/**
 * Calls that wait for a person: for an answer of their client, or for a decision on a page of ours, which no model
 * can make since it needs the user's own browser session. In both cases a suspended call belongs to a user, a client
 * and exact arguments, is settled once, is used up when the call comes again, and expires.
 */
import { type Audit, eventOf } from '#audit/audit.ts'
import type { Recorded } from '#audit/recording.ts'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import { canonical } from '#leaf/strict-json.ts'
import type { WaitingApproval, WaitingQuestion, Suspended } from '../../core/suspended.ts'
import type { OfferedTool } from '../../tools/gate/catalogue.ts'
import type { Store } from '#state/store.ts'
import { type WaitingWork, WaitingRoom } from './waiting-room.ts'
import { peerOf } from '../call.ts'
import type { Json } from '../json-rpc.ts'

const approvalMs = 900_000
const questionMs = 600_000
const maxPerUser = 50
const maxBytes = 65_536

/** The calls that wait for a person, or for their caller to come back with the person's answer. */
export class SuspendedCalls {
  readonly #clock: Clock
  readonly #audit: Audit
  readonly #pageOf: (id: string) => string
  readonly #room: WaitingRoom

  /** `pageOf` returns the page on which the user decides about an approval. */
  constructor(deps: { store: Store; clock: Clock; audit: Audit; pageOf: (id: string) => string }) {
    this.#clock = deps.clock
    this.#audit = deps.audit
    this.#pageOf = deps.pageOf
    this.#room = new WaitingRoom(deps.store)
  }

  /** Suspends a call until the client has answered the questions. */
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

  /** Stores a client's answer to a question that the same peer was asked; ignores any other. */
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
    // An answer that nobody asked for writes nothing.
    if (typeof id !== 'string' || !isOpen(await this.#room.get(id))) return
    await this.#room.change(async (calls) => {
      const found = await calls.get(id)
      if (isOpen(found)) await calls.put({ ...found, answers, state })
    })
  }

  /** Returns and removes the question that was asked for exactly this call. */
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

  /** Returns the address of the page on which the user decides. */
  urlOf(approval: WaitingApproval): string {
    return this.#pageOf(approval.id)
  }

  /** Returns the approval that a call needs: an earlier one, or a new one. AppError `unavailable` when too many wait. */
  async request(
    principal: Principal,
    { tool, annotations }: OfferedTool,
    args: unknown,
    recorded: Recorded,
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
      recorded: structuredClone(recorded),
      state: 'pending',
    }
    return await this.#room.change(async (calls) => {
      // Another daemon may have got the same request meanwhile.
      const other = (await calls.of(principal.user)).find(isKnown)
      if (other) return other
      await suspend(calls, approval)
      await this.#tell(calls, principal, approval, 'tool.approval_request', 'ok')
      return approval
    })
  }

  /** Returns and removes the user's decision on exactly this call; asking again afterwards is a new question. */
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

  /** Returns the calls that wait for this user's decision, oldest first. */
  async waitingFor(user: string): Promise<readonly WaitingApproval[]> {
    const waiting = await this.#room.of(user)
    return waiting.filter((one): one is WaitingApproval => one.kind === 'approval' && one.state === 'pending')
  }

  /** Returns an approval of the user's own; AppError `not_found` for another's, an expired or a missing one alike. */
  async find(user: string, id: string): Promise<WaitingApproval> {
    return ownApproval(user, await this.#room.get(id))
  }

  /** Stores the user's decision. `principal` is the user at the browser. AppError `conflict` when it was decided before. */
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

  /** Forgets all calls of a user that wait or were decided, so that none comes true; returns how many. */
  async forget(user: string): Promise<number> {
    return await this.#room.change(async (calls) => {
      const waiting = await calls.of(user)
      for (const { id } of waiting) await calls.delete(id)
      return waiting.length
    })
  }

  /** Waits until the call is settled, but no longer than this many milliseconds or until the call ends. */
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

  // Which arguments exactly, only the person's page tells: the log is read by people who may not see all of them.
  async #tell(
    { transaction }: WaitingWork,
    principal: Principal,
    approval: WaitingApproval,
    type: string,
    status: 'ok' | 'denied',
  ): Promise<void> {
    const data = { approval: approval.id, arguments: approval.recorded as Recorded }
    const event = eventOf(principal, { type, status, target: approval.tool, data })
    await this.#audit.recordIn(transaction, event)
  }
}

function ownApproval(user: string, found: Suspended | undefined): WaitingApproval {
  if (found?.kind === 'approval' && found.user === user) return found
  throw new AppError('not_found', 'no such approval; it may have expired')
}

/** Adds a waiting call. Above the user's limit, a question replaces the oldest one, and an approval is refused, never dropped. */
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

/** Returns a key, equal for exactly the same call: of the same user through the same client, with the same arguments. */
export function callKey(principal: Principal, name: string, args: unknown): string {
  return sha256(`${peerOf(principal)}\n${name}\n${canonical(args)}`)
}
