/**
 * The settings of before version 2: one section with the labels of specification §2.3 in snake_case,
 * checkboxes as 0 or 1, lists as text with one value a line. They are read as they stand, with a warning;
 * `assistant-core migrate` rewrites them (specification §9.4).
 */
import { linesOf, settingsSchema } from '../core/settings.ts'

/** The section that marks the old layout. */
export const oldSection = 'assistant_core_settings'

/** Maps every key of the old layout to today's section and key; null for keys without effect: computed now, or set elsewhere. */
export const renames: ReadonlyMap<string, string | null> = new Map(
  Object.entries({
    enable_dynamic_client_registration: 'oauth.enable_dynamic_client_registration',
    allowed_public_client_origins: 'oauth.allowed_public_client_origins',
    show_authorization_server_metadata: 'oauth.show_authorization_server_metadata',
    show_protected_resource_metadata: 'oauth.show_protected_resource_metadata',
    resource_name: 'oauth.resource_name',
    documentation_url: 'oauth.documentation_url',
    policy_uri: 'oauth.policy_uri',
    terms_of_service_uri: 'oauth.terms_of_service_uri',
    supported_scopes: 'oauth.supported_scopes',
    skip_authorization: 'oauth.skip_authorization',
    server_enabled: 'server.enabled',
    mcp_server_name: 'server.name',
    skill_mode: 'mcp.skill_mode',
    audit_log_retention_days: 'audit.retention_days',
    mcp_endpoint_url: null,
    oauth_discovery_url: null,
    mcp_protocol_version: null,
    mcp_transport_type: null,
    enabled_plugins_list: null,
    code_execution_timeout: null,
    max_memory_mb: null,
    max_cpu_seconds: null,
    max_recursion: null,
    ocr_backend: null,
    ocr_language: null,
    paddleocr_timeout: null,
    paddleocr_max_memory_mb: null,
    ollama_api_url: null,
    ollama_vision_model: null,
    ollama_request_timeout: null,
  }),
)

/** Settings of today's layout that no longer have an effect. */
export const goneSettings = [['analysis', 'python', 'spares']] as const

/** Converts the value of an old key to today's layout, or says why it cannot; further checks are left to today's schema. */
export function convert(renamed: string, value: unknown): { value: unknown } | { problem: string } {
  const [section = '', key = ''] = renamed.split('.')
  const { properties } = settingsSchema as unknown as Record<'properties', Record<string, Section>>
  const types = [properties[section]!.properties[key]!.type].flat()
  const isEmpty = value === null || value === ''
  if (types.includes('boolean')) {
    if (value === true || value === 1 || value === '1') return { value: true }
    if (value === false || value === 0 || value === '0' || isEmpty) return { value: false }
    return { problem: `must be 0, 1, true or false, not ${JSON.stringify(value)}` }
  }
  if (types.includes('array')) {
    if (value === null || typeof value === 'string') return { value: linesOf(value ?? '') }
    return Array.isArray(value) ? { value } : { problem: 'must be text with one value a line' }
  }
  return { value: isEmpty && types.includes('null') ? null : value }
}

interface Section {
  readonly properties: Readonly<Record<string, { readonly type?: string | readonly string[] }>>
}
