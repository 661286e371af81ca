import type { Settings } from '../core/settings.ts'
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

/** What the site's settings ask of the log. */
export function auditSettingsOf(audit: Settings['audit']): Partial<AuditSettings> {
  // What an answer may take is cut where the answer is known.
  const { syslog, webhook, webhook_secret_file: secret, max_result_bytes: _, ...rest } = audit
  return {
    ...rest,
    ...(syslog !== null && { syslog: syslogOf(syslog) }),
    ...(webhook !== null && { webhook: { url: webhook, ...(secret !== null && { secret_file: secret }) } }),
  }
}

/** `udp://host:514`, `unix:///run/log.sock` as the log reads it; the schema has checked the form. */
function syslogOf(text: string): SyslogSettings {
  const url = new URL(text)
  const transport = url.protocol.slice(0, -1) as SyslogSettings['transport']
  if (transport === 'unix') return { transport, path: decodeURIComponent(url.pathname) }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return { transport, host, ...(url.port !== '' && { port: Number(url.port) }) }
}
