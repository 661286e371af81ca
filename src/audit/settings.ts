import type { SyslogSettings } from './syslog.ts'
import type { WebhookSettings } from './webhook.ts'

/** How long and how large the audit log may be, and where else its events go. Everything has a default. */
export interface AuditSettings {
  /** Closed files whose last day is longer ago are removed. */
  readonly retention_days: number
  /** The oldest closed files are removed while all of them together are larger. */
  readonly max_total_bytes: number
  /** A file is closed (and compressed) when it is larger, and at midnight UTC. */
  readonly max_file_bytes: number
  /** Longer events lose the ends of their longest texts and lists. */
  readonly max_event_bytes: number
  readonly syslog?: SyslogSettings
  readonly webhook?: WebhookSettings
}

const defaultAuditSettings: AuditSettings = {
  retention_days: 365,
  max_total_bytes: 4 * 1024 ** 3,
  max_file_bytes: 64 * 1024 ** 2,
  max_event_bytes: 16 * 1024,
}

/** The settings with a default in the place of each that is not given. */
export function auditSettings(given: Partial<AuditSettings> = {}): AuditSettings {
  const present = Object.entries(given).filter(([, value]) => value !== undefined && value !== null)
  return { ...defaultAuditSettings, ...(Object.fromEntries(present) as Partial<AuditSettings>) }
}
