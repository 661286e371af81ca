/** One call of a tool that waits until its user allows it, as the page shows it that asks the user. */
export interface WaitingCall {
  readonly id: string
  readonly user: string
  /** The client that wants to make the call; absent for an API key. */
  readonly client?: { readonly id: string; readonly name: string }
  readonly tool: string
  readonly title: string
  readonly destructive: boolean
  /** The exact arguments of the call. */
  readonly arguments: unknown
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly state: 'pending' | 'approved' | 'denied'
}
