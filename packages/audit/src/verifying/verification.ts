import type { WriterHead } from '../checkpoint.ts'

/** The result of a verification. */
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
  /** The time at which all lines were read last, where those before `from` were not read now. */
  readonly before?: string
  /** The first line that was read; 0 when there is none. */
  readonly from: number
  /** The faults, the first place first: each as `file:line: fault`. */
  readonly faults: readonly string[]
  readonly notes: readonly string[]
  /** The writers, where several daemons write; the numbers above are then those of all their lines together. */
  readonly writers?: readonly VerifiedWriter[]
}

/** The result for one writer's lines. */
export interface VerifiedWriter extends Pick<
  AuditVerification,
  'lines' | 'first' | 'last' | 'signed' | 'from'
> {
  readonly id: string
  readonly name: string
}

/** What is known of a writer's lines up to a signed one: whatever the lines behind it do not tell again. */
export interface WriterMark {
  readonly id: string
  /** The number and hash of its last checkpoint; 0 when there was none. */
  readonly seq: number
  readonly hash: string
  /** The last line that had been removed. */
  readonly through: number
  readonly lost: readonly { readonly from: number; readonly to: number }[]
  readonly heads: readonly WriterHead[]
  /** What these lines tell people, and what is to be told of the last removal. */
  readonly told: readonly string[]
  readonly removal?: string | undefined
}

/** Sums up several logs as one, with the numbers of all their lines together; `more` lists faults between them. */
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
    from: Math.min(lines, 1 + sum(({ from, first }) => from - first)),
    last: lines,
    signed: sum(({ signed, first }) => Math.max(0, signed - first + 1)),
    pruned: sum(({ pruned }) => pruned),
    faults,
    notes: parts.flatMap((one) => one.notes),
  }
}
