/** The words of JSON-RPC 2.0. */
import { WrittenJson } from '../core/written-json.ts'

/** A JSON object that is only read. */
export type Json = Readonly<Record<string, unknown>>
/** What ties an answer to its request; its type is kept as it came. */
export type RequestId = string | number

/** JSON-RPC error codes (specification §7.1; MCP 2026-07-28 for -32020 to -32022). */
export const errorCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  application: -32000,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const

/** The MCP conversation failed. The message reaches the peer; whom it is for, the endpoint knows. */
export class JsonRpcError extends Error {
  readonly code: number
  readonly data: unknown
  /** The HTTP status, where it does not follow from the code and the revision. */
  readonly status: number | undefined

  constructor(code: number, message: string, options: { data?: unknown; status?: number } = {}) {
    super(message)
    this.name = 'JsonRpcError'
    this.code = code
    this.data = options.data
    this.status = options.status
  }
}

/** An object as JSON, with its written parts as they are. */
export function written(result: Json): string {
  let text = ''
  for (const key in result) {
    const value = result[key]
    if (value === undefined) continue
    text += `${text === '' ? '' : ','}"${key}":${value instanceof WrittenJson ? value.text : JSON.stringify(value)}`
  }
  return `{${text}}`
}

/** Whether a value is a JSON object: no array, no null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A required text among the params; JsonRpcError -32602 names it. */
export function textParam(params: Json, name: string): string {
  const value = params[name]
  if (typeof value !== 'string' || value === '') {
    throw new JsonRpcError(errorCodes.invalidParams, `params.${name}: must be a non-empty string`)
  }
  return value
}

/** An object among the params, empty when it was left out; JsonRpcError -32602 names it. */
export function objectParam(params: Json, name: string): Record<string, unknown> {
  const value = params[name]
  if (value === undefined) return {}
  if (!isObject(value)) throw new JsonRpcError(errorCodes.invalidParams, `params.${name}: must be an object`)
  return value
}
