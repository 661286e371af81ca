/** The body of a request: read by one function, which hands it on only when somebody has let the request in. */
import type { IncomingMessage } from 'node:http'
import type { Exchange } from './exchange.ts'

/** There is nobody to answer: the peer went away before it had sent its request, or was already told to come again. */
export class Gone extends Error {
  constructor() {
    super('the client closed the connection')
    this.name = 'Gone'
  }
}

/** The body has more bytes than its reader takes. */
export class BodyTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`the body is larger than ${maxBytes} bytes`)
    this.name = 'BodyTooLarge'
  }
}

/** Has `enter` asked when the body is there; what says no has answered the request. */
export function guardBody({ state }: Pick<Exchange, 'state'>, enter: () => boolean): void {
  state['enter'] = enter
}

/** Whether the request says that a body follows. */
export function hasBody(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? 0) > 0 || req.headers['transfer-encoding'] !== undefined
}

/** Lets a request in whose body is there, for whoever has read it another way. Throws Gone. */
export function admit(exchange: Pick<Exchange, 'state'>): void {
  if (!isLetIn(exchange)) throw new Gone()
}

function isLetIn({ state }: Pick<Exchange, 'state'>): boolean {
  const enter = state['enter'] as (() => boolean) | undefined
  return enter?.() !== false
}

/** The bytes as they come, given up as soon as they are too many. Rejects with BodyTooLarge and Gone. */
export function readBody(exchange: Pick<Exchange, 'req' | 'state'>, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const { req } = exchange
    if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge(maxBytes)
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) {
        req.removeAllListeners('data')
        req.resume()
        reject(new BodyTooLarge(maxBytes))
      } else chunks.push(chunk)
    })
    req.on('end', () => {
      if (!isLetIn(exchange)) reject(new Gone())
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    // Comes after every request; an error object each time would cost as much as reading the JSON. Without anybody
    // who hears of errors, Node says nothing else of a connection that breaks.
    req.on('close', () => {
      if (!req.complete) reject(new Gone())
    })
  })
}
