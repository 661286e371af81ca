import type { SiteReading } from '../../house/snapshot.ts'
import type { Folders } from '#leaf/secret-files.ts'
import type { Settings } from '../../core/settings.ts'
import type { daemonHealth } from '../daemon.ts'
import type { Verdict } from './finding.ts'

/** The subject of an examination. */
export interface Patient extends Folders {
  readonly publicUrl?: string
  /** The health of a running daemon; undefined when none runs. */
  readonly health: Awaited<ReturnType<(typeof daemonHealth)['run']>> | undefined
}

/** The subject with the site, where that could be read. */
export interface ReadPatient extends Patient {
  /** The verdict on the reading. */
  readonly valid: Verdict
  readonly reading?: SiteReading<unknown>
  readonly settings?: Settings
  /** The state of own tools as the running daemon knows it, or as a trial from here shows it. */
  readonly troubles?: readonly string[]
  readonly remarks?: readonly string[]
  /** Changes in tables of others whose outcome only an operator told. */
  readonly toldChanges?: readonly string[] | undefined
}
