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

/** A call of a tool that its user must allow on a page of ours. */
export interface WaitingApproval extends Waiting {
  readonly kind: 'approval'
  readonly tool: string
  readonly title: string
  readonly destructive: boolean
  /** The exact arguments of the call. */
  readonly arguments: unknown
  readonly state: 'pending' | 'approved' | 'denied'
}

/** A call that asked its client something: by name what was asked, and what was answered so far. */
export interface WaitingQuestion extends Waiting {
  readonly kind: 'question'
  readonly asked: readonly string[]
  readonly answers: Readonly<Record<string, unknown>>
  readonly state: 'pending' | 'answered' | 'denied'
}

/** A call that waits for a person, in whichever way the person is asked: plain data, used up by exactly that call. */
export type Suspended = WaitingApproval | WaitingQuestion
