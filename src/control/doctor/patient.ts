/** What `doctor` looks at. */
import type { AnalysisProbe } from '../../analysis/analysis.ts'
import type { Clock } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import type { ReadinessCheck } from '../../http/health-endpoint.ts'

/** What a running daemon says of itself (`daemon.health`). */
export interface DaemonHealth {
  readonly now: number
  readonly public_url: string
  readonly checks: readonly ReadinessCheck[]
  readonly probes: readonly AnalysisProbe[]
}

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
