/** What was found. */
export interface AuditVerification {
  readonly ok: boolean
  readonly files: number
  readonly lines: number
  /** The numbers of the first and the last line; 0 when there is none. */
  readonly first: number
  readonly last: number
  /** The last line that a valid signature covers. */
  readonly signed: number
  /** The last line that was removed for its age or for room, as the log itself says; 0 when none was. */
  readonly pruned: number
  /** What is wrong, the first place first: each as `file:line: fault`. */
  readonly faults: readonly string[]
  readonly notes: readonly string[]
  /** Who wrote it, where several daemons do; the numbers above are then those of all their lines together. */
  readonly writers?: readonly VerifiedWriter[]
}

/** What was found of one writer's lines. */
export interface VerifiedWriter {
  readonly id: string
  readonly name: string
  readonly lines: number
  readonly first: number
  readonly last: number
  readonly signed: number
}
