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

/** What can be found of one thing. */
export function about(check: string) {
  const wrong =
    (status: 'warning' | 'failure') =>
    (detail: string, cause: string, remedy: string): Finding => ({ check, status, detail, cause, remedy })
  return {
    fine: (detail: string): Finding => ({ check, status: 'ok', detail }),
    warning: wrong('warning'),
    failure: wrong('failure'),
    /** It could not be looked at, and why. */
    unknown: (detail: string): Finding => ({ check, status: 'unknown', detail }),
  }
}
