/** What `doctor` looks at. */
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { daemonHealth } from '../metrics.ts'

/** What a running daemon says of itself. */
export type DaemonHealth = Awaited<ReturnType<(typeof daemonHealth)['run']>>

/** What there is to look at. */
export interface Patient {
  readonly site: string
  readonly state: string
  readonly publicUrl?: string
  readonly clock: Clock
  readonly log: Log
  /** The running daemon's word; undefined when none runs. */
  readonly health: DaemonHealth | undefined
}
