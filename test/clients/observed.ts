/** A proxy before the service that notes who asked what, and what was answered: what a client says of itself is not evidence. */
import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One exchange, as far as the matrix asks about it. */
export interface Exchange {
  readonly path: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly sent: string
  readonly status: number
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Grows while a stream is open. */
  answered: string
}

/** Listens before a service that listens at `target`, which is known when it has started. */
export async function observe(target: () => string): Promise<{
  readonly url: string
  readonly seen: readonly Exchange[]
  readonly close: () => void
}> {
  const seen: Exchange[] = []
  const server = createServer((incoming, outgoing) => {
    const parts: Buffer[] = []
    incoming.on('data', (part: Buffer) => parts.push(part))
    incoming.on('end', () => {
      const { method = 'GET', url: path = '/', headers } = incoming
      const forwarded = request(new URL(path, target()), { method, headers }, (answer) => {
        const exchange: Exchange = {
          path,
          method,
          headers,
          sent: Buffer.concat(parts).toString(),
          status: answer.statusCode ?? 0,
          at: Date.now(),
          answered: '',
        }
        seen.push(exchange)
        outgoing.writeHead(exchange.status, answer.headers)
        outgoing.flushHeaders()
        answer.on('data', (part: Buffer) => {
          if (exchange.answered.length < 200_000) exchange.answered += part.toString()
          outgoing.write(part)
        })
        answer.on('end', () => outgoing.end())
        answer.on('error', () => outgoing.destroy())
      })
      forwarded.on('error', () => outgoing.destroy())
      outgoing.on('close', () => forwarded.destroy())
      forwarded.end(Buffer.concat(parts))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    seen,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
