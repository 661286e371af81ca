/** The types and errors of JSON-RPC 2.0. */
import { isObject } from '#leaf/as-json.ts'
import { WrittenJson } from '#leaf/written-json.ts'

/** A read-only JSON object. */
export type Json = Readonly<Record<string, unknown>>
/** The id that ties an answer to its request; its type is kept. */
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

/** An error of the MCP conversation. The message reaches the peer; the endpoint knows which one. */
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

/** Serialises an object as JSON; parts that are written already stay as they are. */
export function written(result: Json): string {
  let text = ''
  for (const key in result) {
    const value = result[key]
    if (value === undefined) continue
    text += `${text === '' ? '' : ','}"${key}":${value instanceof WrittenJson ? value.text : JSON.stringify(value)}`
  }
  return `{${text}}`
}

/** Returns a required text of the params; JsonRpcError -32602 names a missing one. */
export function textParam(params: Json, name: string): string {
  const value = params[name]
  if (typeof value !== 'string' || value === '') {
    throw new JsonRpcError(errorCodes.invalidParams, `params.${name}: must be a non-empty string`)
  }
  return value
}

/** Returns an object of the params, empty when it was left out; JsonRpcError -32602 names a wrong one. */
export function objectParam(params: Json, name: string): Record<string, unknown> {
  const value = params[name]
  if (value === undefined) return {}
  if (!isObject(value)) throw new JsonRpcError(errorCodes.invalidParams, `params.${name}: must be an object`)
  return value
}

/** Returns the error of a request that is refused before there is a message to answer. */
export function transportError(status: number, message: string): JsonRpcError {
  return new JsonRpcError(errorCodes.invalidRequest, message, { status })
}
