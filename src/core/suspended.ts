import type { ActingClient } from './principal.ts'

interface Waiting {
  readonly id: string
  /** Equal for exactly the same call: of the same user, through the same client, with the same arguments. */
  readonly key: string
  readonly user: string
  /** The client that made the call; absent for an API key. */
  readonly client?: ActingClient
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
}

/** A tool call that its user must allow on a page of ours. */
export interface WaitingApproval extends Waiting {
  readonly kind: 'approval'
  readonly tool: string
  readonly title: string
  readonly destructive: boolean
  /** The exact arguments of the call. */
  readonly arguments: unknown
  /** The arguments as the audit log may keep them. */
  readonly recorded: unknown
  readonly state: 'pending' | 'approved' | 'denied'
}

/** A call that asked its client for something: the names of the questions, and the answers so far. */
export interface WaitingQuestion extends Waiting {
  readonly kind: 'question'
  readonly asked: readonly string[]
  readonly answers: Readonly<Record<string, unknown>>
  readonly state: 'pending' | 'answered' | 'denied'
}

/** A call that waits for a person, however the person is asked: plain data, used up by exactly that call. */
export type Suspended = WaitingApproval | WaitingQuestion
