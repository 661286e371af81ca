import type { SecretPath } from '#leaf/secret-files.ts'
import type { FromSchema } from '#leaf/schema.ts'
import { nonNegative, orNone, positive, secretOrNone, section, secureUri } from '#leaf/setting-types.ts'
import type { SyslogSettings } from './forward/syslog.ts'
import type { WebhookSettings } from './forward/webhook.ts'

/** The section `audit` of the settings. */
export const auditSection = section({
  retention_days: { ...nonNegative, default: 180 },
  max_total_bytes: { ...nonNegative, default: 10737418240 },
  max_file_bytes: { ...positive, default: 67108864 },
  max_event_bytes: { ...positive, default: 65536 },
  max_result_bytes: { ...nonNegative, default: 1000 },
  syslog: orNone(
    '^((udp|tcp|tls)://([a-zA-Z0-9.-]+|\\[[0-9a-fA-F:.]+\\])(:[0-9]{1,5})?|unix:///.+)$',
    'udp://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH',
  ),
  webhook: secureUri,
  webhook_secret_file: secretOrNone,
})

/** The limits on age and size of the audit log, and the other destinations of its events. Everything has a default. */
export interface AuditSettings {
  /** The number of days after its last day at which a closed file is removed. */
  readonly retention_days: number
  /** The total size above which the oldest closed files are removed. */
  readonly max_total_bytes: number
  /** The size above which a file is closed (and compressed); this also happens at midnight UTC. */
  readonly max_file_bytes: number
  /** The size above which an event loses the ends of its longest texts and lists. */
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

/** Returns the settings, with defaults for those that are not given. */
export function auditSettings(given: Partial<AuditSettings> = {}): AuditSettings {
  const present = Object.entries(given).filter(([, value]) => value !== undefined && value !== null)
  return { ...defaultAuditSettings, ...(Object.fromEntries(present) as Partial<AuditSettings>) }
}

/** Returns the log's part of the site's settings. */
export function auditSettingsOf(
  audit: FromSchema<typeof auditSection>,
  secretPath: SecretPath,
): Partial<AuditSettings> {
  // Answers are cut to `max_result_bytes` where they are known.
  const { syslog, webhook, webhook_secret_file: secret, max_result_bytes: _, ...rest } = audit
  return {
    ...rest,
    ...(syslog !== null && { syslog: syslogOf(syslog) }),
    ...(webhook !== null && {
      webhook: { url: webhook, ...(secret !== null && { secret_file: secretPath(secret) }) },
    }),
  }
}

/** Reads an address such as `udp://host:514` or `unix:///run/log.sock`; the schema has checked the form. */
function syslogOf(text: string): SyslogSettings {
  const url = new URL(text)
  const transport = url.protocol.slice(0, -1) as SyslogSettings['transport']
  if (transport === 'unix') return { transport, path: decodeURIComponent(url.pathname) }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return { transport, host, ...(url.port !== '' && { port: Number(url.port) }) }
}
