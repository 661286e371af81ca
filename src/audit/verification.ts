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
export interface VerifiedWriter extends Pick<AuditVerification, 'lines' | 'first' | 'last' | 'signed'> {
  readonly id: string
  readonly name: string
}

/** Several logs as one, whose numbers are those of all their lines together; `more` is wrong with them besides. */
export function together(
  parts: readonly AuditVerification[],
  more: readonly string[] = [],
): AuditVerification {
  const sum = (countOf: (one: AuditVerification) => number): number =>
    parts.reduce((total, one) => total + countOf(one), 0)
  const lines = sum((one) => one.lines)
  const faults = [...parts.flatMap((one) => one.faults), ...more]
  return {
    ok: faults.length === 0,
    files: sum(({ files }) => files),
    lines,
    first: Math.min(lines, 1),
    last: lines,
    signed: sum(({ signed, first }) => Math.max(0, signed - first + 1)),
    pruned: sum(({ pruned }) => pruned),
    faults,
    notes: parts.flatMap((one) => one.notes),
  }
}
