/** Reads the bytes of a request's body, once and never more than allowed. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Exchange } from '#front/exchange.ts'
import { readBody } from '#front/request-body.ts'
import { JsonFault, parseStrict } from '#leaf/strict-json.ts'
import { errorCodes, JsonRpcError } from './json-rpc.ts'

const maxDepth = 100

/** Reads a body whose media type is JSON; JsonRpcError with HTTP 415 for another. Rejects with BodyTooLarge and Gone. */
export function readBytes(exchange: Pick<Exchange, 'req' | 'state'>, maxBytes: number): Promise<Buffer> {
  requireJson(exchange.req)
  return readBody(exchange, maxBytes)
}

/** Decodes a body as UTF-8 text. */
export function bodyText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw notJson('the body is not valid UTF-8')
  return bytes.toString('utf8')
}

/** Parses the JSON of a body. JsonRpcError -32700 (HTTP 400) when it is no JSON, -32600 when it is refused. */
export function parseBody(text: string): unknown {
  try {
    return parseStrict(text, maxDepth)
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    if (error.kind === 'syntax') throw notJson('the body is not JSON')
    throw new JsonRpcError(errorCodes.invalidRequest, `invalid request: ${error.message}`)
  }
}

/** Requires JSON in UTF-8, not compressed: a small body must not become a large one here. */
function requireJson(req: IncomingMessage): void {
  const type = req.headers['content-type'] ?? ''
  const plain = req.headers['content-encoding'] ?? 'identity'
  if (/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type) && plain === 'identity') return
  throw new JsonRpcError(
    errorCodes.invalidRequest,
    plain === 'identity' ? 'Content-Type must be application/json' : 'Content-Encoding is not supported',
    { status: 415 },
  )
}

function notJson(message: string): JsonRpcError {
  return new JsonRpcError(errorCodes.parse, `parse error: ${message}`, { status: 400 })
}
