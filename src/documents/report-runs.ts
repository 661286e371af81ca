import type { Shown } from '../core/shown.ts'
import type { Platform } from './platform.ts'

/** How a run in the background ended. */
export type RunEnd =
  { readonly value: unknown; readonly at: number } | { readonly error: unknown; readonly at: number }

/** A report that runs, or ran, in the background for one user and one set of filters. */
export interface ReportRun {
  /** The reading of the site that it was made under. */
  readonly platform: Platform
  readonly started: number
  /** What whoever asks for it is shown. */
  readonly shown: Shown
  end?: RunEnd
  done: Promise<void>
}
