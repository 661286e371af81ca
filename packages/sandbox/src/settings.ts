/** The share of the machine for work beside the daemon, as settings of the site. */
import { objectWith } from '#leaf/object-schema.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { flag, nonNegative, positive, section } from '#leaf/setting-types.ts'

/** The section `analysis` of the settings. */
export const sandboxSettings = section({
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
}) satisfies JSONSchema

/** The values of these settings. */
export type SandboxSettings = FromSchema<typeof sandboxSettings>

/** Returns the defaults without a site, for tests and for parts that are opened alone. */
export function defaultSandboxSettings(): SandboxSettings {
  const settings = {}
  fileSchema(objectWith({ analysis: sandboxSettings }), { defaults: true })(settings)
  return (settings as { analysis: SandboxSettings }).analysis
}
