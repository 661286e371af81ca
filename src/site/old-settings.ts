/**
 * The settings of before version 2: one section with the labels of specification §2.3 in snake_case,
 * checkboxes as 0 or 1, lists as text with one value a line. Read as it stands, with a warning;
 * `assistant-core migrate` rewrites it (specification §9.4).
 */

/** The section that marks the old layout. */
export const oldSection = 'assistant_core_settings'

type Kind = 'checkbox' | 'lines' | 'text' | 'number'

interface OldSetting {
  /** Where the value stands now, as section and key. */
  readonly to: readonly [string, string]
  readonly kind: Kind
}

const oauth = (key: string, kind: Kind): OldSetting => ({ to: ['oauth', key], kind })

/** Every old key that has a place in the new layout. */
export const oldSettings: ReadonlyMap<string, OldSetting> = new Map([
  ['enable_dynamic_client_registration', oauth('enable_dynamic_client_registration', 'checkbox')],
  ['allowed_public_client_origins', oauth('allowed_public_client_origins', 'lines')],
  ['show_authorization_server_metadata', oauth('show_authorization_server_metadata', 'checkbox')],
  ['show_protected_resource_metadata', oauth('show_protected_resource_metadata', 'checkbox')],
  ['resource_name', oauth('resource_name', 'text')],
  ['documentation_url', oauth('documentation_url', 'text')],
  ['policy_uri', oauth('policy_uri', 'text')],
  ['terms_of_service_uri', oauth('terms_of_service_uri', 'text')],
  ['supported_scopes', oauth('supported_scopes', 'lines')],
  ['skip_authorization', oauth('skip_authorization', 'checkbox')],
  ['server_enabled', { to: ['server', 'enabled'], kind: 'checkbox' }],
  ['mcp_server_name', { to: ['server', 'name'], kind: 'text' }],
  ['skill_mode', { to: ['mcp', 'skill_mode'], kind: 'text' }],
  ['audit_log_retention_days', { to: ['audit', 'retention_days'], kind: 'number' }],
])

/** Old keys that nothing answers to any more: computed now, or set elsewhere. Ignored with a warning. */
export const droppedSettings: ReadonlySet<string> = new Set([
  'mcp_endpoint_url',
  'oauth_discovery_url',
  'mcp_protocol_version',
  'mcp_transport_type',
  'enabled_plugins_list',
  'code_execution_timeout',
  'max_memory_mb',
  'max_cpu_seconds',
  'max_recursion',
  'ocr_backend',
  'ocr_language',
  'paddleocr_timeout',
  'paddleocr_max_memory_mb',
  'ollama_api_url',
  'ollama_vision_model',
  'ollama_request_timeout',
])

/** Settings of the layout of today that nothing answers to any more. Ignored with a warning. */
export const goneSettings: readonly (readonly string[])[] = [['analysis', 'python', 'spares']]

/** An old value as the new layout writes it, or why it cannot be. */
export function convert(kind: Kind, value: unknown): { value: unknown } | { problem: string } {
  switch (kind) {
    case 'checkbox':
      if (value === true || value === 1 || value === '1') return { value: true }
      if (value === false || value === 0 || value === '0' || value === null || value === '')
        return { value: false }
      return { problem: `must be 0, 1, true or false, not ${JSON.stringify(value)}` }
    case 'lines':
      if (value === null) return { value: [] }
      if (typeof value === 'string') return { value: splitLines(value) }
      if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return { value }
      return { problem: 'must be text with one value a line' }
    case 'text':
      if (value === null || value === '') return { value: null }
      return typeof value === 'string' ? { value } : { problem: 'must be text' }
    default:
      return typeof value === 'number' ? { value } : { problem: 'must be a number' }
  }
}

function splitLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
