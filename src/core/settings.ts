/**
 * `config/settings.yaml`: the schema of every setting, and the type that follows from it. The
 * shipped file shows every key with its default and is the manual; a test holds the two together.
 */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { loginSettings, oauthSettings } from './oauth-settings.ts'
import { filePath, flag, lines, nonNegative, orNone, positive, section, secureUri } from './setting-types.ts'
import { objectWith } from './object-schema.ts'

/** The layout that this release writes; an older one is migrated by `assistant-core migrate`. */
export const settingsVersion = 2

const rate = objectWith({ points: positive, seconds: positive })

/** Every setting with its bounds and default. Required everywhere, since defaults fill in what a site leaves out. */
export const settingsSchema = objectWith({
  version: { type: 'integer', default: settingsVersion },
  public_url: orNone(
    '^https?://[^/?#]+/?$',
    'an address without a path, such as https://assistant.example.com',
  ),
  store: section({
    kind: { type: 'string', enum: ['embedded', 'postgres'], default: 'embedded' },
    url_file: filePath,
    connections: { type: 'integer', minimum: 4, maximum: 100, default: 8 },
  }),
  server: section({
    enabled: { ...flag, default: true },
    name: {
      type: 'string',
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
      title: 'one to 64 letters, digits, -, _ and .',
      default: 'assistant-core',
    },
    display_name: { type: 'string', minLength: 1, maxLength: 100, default: 'Assistant Core' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'integer', minimum: 0, maximum: 65535, default: 8787 },
    allowed_hosts: { ...lines, default: [] },
    allowed_origins: { ...lines, default: [] },
    trusted_proxies: { ...lines, default: [] },
    max_body_bytes: { ...positive, default: 4194304 },
    request_timeout_seconds: { ...positive, default: 300 },
    drain_seconds: { ...nonNegative, default: 3 },
    shutdown_grace_seconds: { ...nonNegative, default: 10 },
    max_concurrent_requests: { ...positive, default: 1000 },
  }),
  company: section({
    logo: orNone('^config/[\\w-]+\\.(svg|png)$', 'a file beside this one, such as config/logo.svg'),
    accent_color: orNone('^#[0-9a-fA-F]{6}$', 'a colour such as "#1f5fbf"'),
    support: orNone(
      '^(https://[^\\s]+|[^\\s@:]+@[^\\s@]+)$',
      'an e-mail address or an address that begins with https://',
    ),
    legal_links: {
      type: 'array',
      maxItems: 10,
      default: [],
      items: objectWith({
        label: { type: 'string', minLength: 1, maxLength: 60 },
        url: { type: 'string', pattern: '^https://[^\\s]+$', title: 'an address that begins with https://' },
      }),
    },
  }),
  oauth: oauthSettings,
  login: loginSettings,
  mcp: section({
    instructions: { type: ['string', 'null'], default: null },
    page_size: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
    legacy_streams: { ...flag, default: true },
    skill_tools: { ...flag, default: true },
    skill_mode: { type: 'string', enum: ['supplementary', 'replace'], default: 'supplementary' },
    max_streams_per_user: { ...positive, default: 10 },
    structured_results: { type: 'string', enum: ['small', 'all'], default: 'small' },
  }),
  rate_limits: section({
    enabled: { ...flag, default: true },
    mcp: { ...rate, default: { points: 3000, seconds: 60 } },
    preview: { ...rate, default: { points: 120, seconds: 60 } },
    token: { ...rate, default: { points: 300, seconds: 60 } },
    register: { ...rate, default: { points: 600, seconds: 3600 } },
    authorize: { ...rate, default: { points: 600, seconds: 60 } },
    exempt_addresses: { ...lines, default: [] },
  }),
  audit: section({
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
    webhook_secret_file: filePath,
  }),
  library: section({
    built_ins: { ...flag, default: true },
    channels: { type: 'object', additionalProperties: { type: 'string' }, default: {} },
  }),
  git: section({ commit: { ...flag, default: false } }),
  site: section({
    git: section({
      url: orNone(
        '^(https://[A-Za-z0-9.:\\[\\]-]+/[^\\s@]+|ssh://([A-Za-z0-9_][\\w.-]*@)?[A-Za-z0-9][\\w.:-]*/[^\\s]+|file:///[^\\s]+)$',
        'https://HOST/PATH, ssh://USER@HOST/PATH or file:///PATH, without a password',
      ),
      ref: {
        type: 'string',
        pattern: '^(?!.*\\.\\.)[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}$',
        title: 'a branch, a tag or HEAD',
        default: 'HEAD',
      },
      interval: { ...nonNegative, default: 60 },
      credentials_file: filePath,
    }),
  }),
  tools: section({
    timeout_seconds: { ...positive, default: 60 },
    max_concurrent_per_user: { ...positive, default: 8 },
    max_result_bytes: { ...positive, default: 100000 },
  }),
  analysis: section({
    sql: section({
      timeout_seconds: { ...positive, default: 10 },
      memory_mb: { ...positive, default: 256 },
      threads: { ...positive, default: 2 },
      max_concurrent: { ...positive, default: 4 },
      max_idle: { ...nonNegative, default: 3 },
      max_rows: { ...positive, default: 10000 },
      max_result_bytes: { ...positive, default: 8000000 },
    }),
    python: section({
      enabled: { ...flag, default: true },
      interpreter: {
        type: 'string',
        pattern: '^/',
        title: 'a full path, which begins with /',
        default: '/usr/bin/python3',
      },
      paths: {
        type: 'array',
        items: { type: 'string', pattern: '^/', title: 'a full path, which begins with /' },
        default: [],
      },
      timeout_seconds: { ...positive, default: 30 },
      max_timeout_seconds: { ...positive, default: 300 },
      memory_mb: { ...positive, default: 512 },
      scratch_mb: { ...positive, default: 64 },
      max_output_bytes: { ...positive, default: 1000000 },
      max_concurrent: { ...positive, default: 4 },
      max_tool_calls: { ...nonNegative, default: 200 },
    }),
    files: section({
      timeout_seconds: { ...positive, default: 30 },
      memory_mb: { ...positive, default: 512 },
      max_bytes: { ...positive, default: 50000000 },
      max_unpacked_bytes: { ...positive, default: 200000000 },
      ocr_command: { type: 'array', items: { type: 'string' }, default: [] },
    }),
    charts: section({
      timeout_seconds: { ...positive, default: 20 },
      memory_mb: { ...positive, default: 512 },
      max_points: { ...positive, default: 5000 },
    }),
  }),
  metrics: section({
    listen: orNone('^([a-zA-Z0-9.-]+|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}$', 'HOST:PORT, such as 127.0.0.1:9464'),
  }),
  tracing: section({
    otlp: secureUri,
    headers_file: filePath,
    sample_ratio: { type: 'number', minimum: 0, maximum: 1, default: 1 },
  }),
  log: section({
    level: { type: 'string', enum: ['debug', 'info', 'warn', 'error', 'silent'], default: 'info' },
  }),
}) satisfies JSONSchema

/** Every setting, defaults filled in. */
export type Settings = FromSchema<typeof settingsSchema>

/** The values of a setting that is a list or one value a line; blank lines do not count. */
export function linesOf(value: string | readonly string[]): string[] {
  const list = typeof value === 'string' ? value.split('\n') : value
  return [...new Set(list.map((line) => line.trim()).filter((line) => line !== ''))]
}
