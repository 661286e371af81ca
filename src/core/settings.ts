/**
 * `config/settings.yaml`: the schema of every setting, and the type that follows from it. The
 * shipped file shows every key with its default and is the manual; a test holds the two together.
 */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { auditSection } from '#audit/settings.ts'
import { loginSettings, oauthSettings } from './oauth-settings.ts'
import {
  businessSection,
  flag,
  lines,
  nonNegative,
  orNone,
  positive,
  secretOrNone,
  section,
  secureUri,
} from '#leaf/setting-types.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { sandboxSettings } from '#sandbox/settings.ts'
import { business, host } from '#leaf/who-decides.ts'

/** The settings version that this release writes; `assistant-core migrate` migrates an older one. */
export const settingsVersion = 2

const rate = objectWith({ points: positive, seconds: positive })

/** Every setting with its bounds and default. All are required, since defaults fill in what a site leaves out. */
export const settingsSchema = objectWith({
  version: host({ type: 'integer', default: settingsVersion }),
  public_url: host(
    orNone('^https?://[^/?#]+/?$', 'an address without a path, such as https://assistant.example.com'),
  ),
  secrets_folder: host(orNone('^/', 'a full path, which begins with /')),
  store: section({
    kind: { type: 'string', enum: ['embedded', 'postgres'], default: 'embedded' },
    url_file: secretOrNone,
    connections: { type: 'integer', minimum: 4, maximum: 100, default: 8 },
  }),
  server: section({
    enabled: { ...flag, default: true },
    name: {
      type: 'string',
      pattern: '^[A-Za-z0-9_.-]+$',
      maxLength: 64,
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
  company: businessSection({
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
    instructions: business({
      type: ['string', 'null'],
      contentMediaType: 'text/plain',
      default: null,
    }),
    page_size: business({ type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
    legacy_streams: { ...flag, default: true },
    skill_tools: business({ ...flag, default: true }),
    skill_mode: business({ type: 'string', enum: ['supplementary', 'replace'], default: 'supplementary' }),
    max_streams_per_user: { ...positive, default: 10 },
    structured_results: business({ type: 'string', enum: ['small', 'all'], default: 'small' }),
  }),
  rate_limits: section({
    enabled: { ...flag, default: true },
    mcp: { ...rate, default: { points: 3000, seconds: 60 } },
    preview: { ...rate, default: { points: 120, seconds: 60 } },
    write: { ...rate, default: { points: 10, seconds: 60 } },
    token: { ...rate, default: { points: 300, seconds: 60 } },
    register: { ...rate, default: { points: 600, seconds: 3600 } },
    authorize: { ...rate, default: { points: 600, seconds: 60 } },
    exempt_addresses: { ...lines, default: [] },
  }),
  audit: auditSection,
  library: businessSection({
    built_ins: { ...flag, default: true },
    channels: { type: 'object', additionalProperties: { type: 'string' }, default: {} },
    max_drafts_per_user: { ...nonNegative, default: 200 },
    max_draft_bytes_per_user: { ...nonNegative, default: 5242880 },
  }),
  documents: section({
    max_documents_per_user: { ...nonNegative, default: 250_000 },
    max_bytes_per_user: { ...nonNegative, default: 134_217_728 },
    import_keeps_origin: { ...flag, default: false },
    currency: business(orNone('^[A-Z]{3}$', 'three capital letters (ISO 4217), such as EUR')),
  }),
  git: section({ commit: { ...flag, default: false }, edit_in_browser: { ...flag, default: false } }),
  site: section({
    git: section({
      url: orNone(
        '^(https://[A-Za-z0-9.:\\[\\]-]+/[^\\s@]+|ssh://([A-Za-z0-9_][\\w.-]*@)?[A-Za-z0-9][\\w.:-]*/[^\\s]+|file:///[^\\s]+)$',
        'https://HOST/PATH, ssh://USER@HOST/PATH or file:///PATH, without a password',
      ),
      ref: {
        type: 'string',
        pattern: '^[A-Za-z0-9_][A-Za-z0-9_/-]*(\\.[A-Za-z0-9_/-]+)*\\.?$',
        maxLength: 200,
        title: 'a branch, a tag or HEAD',
        default: 'HEAD',
      },
      interval: { ...nonNegative, default: 60 },
      credentials_file: secretOrNone,
    }),
  }),
  tools: section({
    timeout_seconds: { ...positive, default: 60 },
    max_concurrent_per_user: { ...positive, default: 8 },
    max_result_bytes: { ...positive, default: 100000 },
    module_memory_mb: { ...positive, default: 512 },
  }),
  analysis: sandboxSettings,
  metrics: section({
    listen: orNone('^([a-zA-Z0-9.-]+|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}$', 'HOST:PORT, such as 127.0.0.1:9464'),
  }),
  tracing: section({
    otlp: secureUri,
    headers_file: secretOrNone,
    sample_ratio: { type: 'number', minimum: 0, maximum: 1, default: 1 },
  }),
  log: section({
    level: { type: 'string', enum: ['debug', 'info', 'warn', 'error', 'silent'], default: 'info' },
  }),
}) satisfies JSONSchema

/** Every setting, with defaults filled in. */
export type Settings = FromSchema<typeof settingsSchema>

/** Returns the values of a setting that is a list or has one value a line; blank lines do not count. */
export function linesOf(value: string | readonly string[]): string[] {
  const list = typeof value === 'string' ? value.split('\n') : value
  return [...new Set(list.map((line) => line.trim()).filter((line) => line !== ''))]
}
