import type { IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { http } from '#leaf/node-http.ts'
import { AppError } from '#leaf/errors.ts'
import { BodyTooLarge } from '#front/request-body.ts'
import { readWithin } from './guarded-fetch.ts'
import { addressFor, pinned } from './pinned.ts'

/** A request and its bounds. `allowPrivate`: the operator allows addresses of the inner network. */
export interface Outgoing {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly allowPrivate: boolean
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** The answer of the service, with any status; redirects are returned, not followed. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Sends one request to the operator's URL: no redirects, bounded, pinned to the address that was checked. */
export async function send({
  method,
  url,
  headers,
  body,
  allowPrivate,
  maxBytes,
  signal,
}: Outgoing): Promise<HttpAnswer> {
  // Looked up once and dialled as checked: a second lookup could give an inner address (DNS rebinding).
  const address = await addressFor(url.hostname, allowPrivate)
  const start = url.protocol === 'https:' ? httpsRequest : http.request
  return await new Promise((resolve, reject) => {
    const unreachable = (cause: unknown) =>
      reject(
        signal.aborted
          ? (signal.reason as Error)
          : new AppError('unavailable', 'the service behind this tool cannot be reached', { cause }),
      )
    const outgoing = start(
      url,
      {
        method,
        // Uses a connection of its own, because a pooled one may lead to an address of an earlier lookup.
        agent: false,
        signal,
        headers: {
          // Uncompressed, so that `maxBytes` counts the bytes that are kept.
          'accept-encoding': 'identity',
          ...headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
        lookup: pinned(address),
      },
      (response) => {
        const { statusCode: status = 0, headers } = response
        readWithin(response, maxBytes).then(
          (bytes) => resolve({ status, headers, text: bytes.toString() }),
          (fault: unknown) => {
            response.destroy()
            if (!(fault instanceof BodyTooLarge)) return unreachable(fault)
            const text = `the service behind this tool answered more than ${maxBytes} bytes`
            reject(new AppError('unavailable', text))
          },
        )
      },
    )
    outgoing.on('error', unreachable)
    outgoing.end(body)
  })
}
