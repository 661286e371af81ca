/** What `doctor` found of one thing. `check` is a stable slug; scripts may rely on it. */
export interface Finding {
  readonly check: string
  /** `unknown` is no failure: it could not be looked at from here. */
  readonly status: 'ok' | 'warning' | 'failure' | 'unknown'
  readonly detail: string
  /** Why it probably is so, and what to do; absent when all is well. */
  readonly cause?: string
  readonly remedy?: string
}

/** A finding that all is well. */
export function fine(check: string, detail: string): Finding {
  return { check, status: 'ok', detail }
}

/** A finding that something is wrong. */
export function wrong(
  check: string,
  status: 'warning' | 'failure',
  detail: string,
  cause: string,
  remedy: string,
): Finding {
  return { check, status, detail, cause, remedy }
}

/** A finding that something could not be looked at, and why. */
export function unknown(check: string, detail: string): Finding {
  return { check, status: 'unknown', detail }
}
