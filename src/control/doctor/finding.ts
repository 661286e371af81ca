import { AppError, messageOf } from '#leaf/errors.ts'

/** The result of a check. */
export interface Verdict {
  /** `unknown` is no failure: the check could not look from here. */
  readonly status: 'ok' | 'warning' | 'failure' | 'unknown'
  readonly detail: string
  /** The probable cause, and the remedy; absent when all is well. */
  readonly cause?: string
  readonly remedy?: string
}

/** A verdict with the name of its check, a stable slug that scripts may rely on. */
export interface Finding extends Verdict {
  readonly check: string
}

/** The verdict of a check; or one for each of several things, with their own names if need be; or none. */
export type Found = Verdict | readonly (Verdict & Partial<Finding>)[] | undefined

/** Checks by name, in the order in which they are shown. */
export type Checks<Subject> = Readonly<Record<string, (subject: Subject) => Found | Promise<Found>>>

export const fine = (detail: string): Verdict => ({ status: 'ok', detail })
export const unknown = (detail: string): Verdict => ({ status: 'unknown', detail })

export function warning(detail: string, cause: string, remedy: string): Verdict {
  return { status: 'warning', detail, cause, remedy }
}

export function broken(detail: string, cause: string, remedy: string): Verdict {
  return { status: 'failure', detail, cause, remedy }
}

/** Runs a table of checks, one after the other. A check that gets no answer (AppError), or may not look, is unknown. */
export async function runChecks<Subject>(checks: Checks<Subject>, subject: Subject): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [check, look] of Object.entries(checks)) {
    const found = await (async () => look(subject))().catch((error: unknown) => {
      if (error instanceof AppError || (error as NodeJS.ErrnoException).code === 'EACCES')
        return unknown(messageOf(error))
      throw error
    })
    findings.push(...[found ?? []].flat().map((verdict) => ({ check, ...verdict })))
  }
  return findings
}
