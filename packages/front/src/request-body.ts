/** Reads the body of a request, and passes it on only once the request is admitted. */
import type { IncomingMessage } from 'node:http'
import type { Exchange } from './exchange.ts'

/** The error when there is nobody to answer: the peer left before it had sent its request, or was already told to retry. */
export class Gone extends Error {
  constructor() {
    super('the client closed the connection')
    this.name = 'Gone'
  }
}

/** The error for a body with more bytes than its reader takes. */
export class BodyTooLarge extends Error {
  constructor(maxBytes: number) {
    super(`the body is larger than ${maxBytes} bytes`)
    this.name = 'BodyTooLarge'
  }
}

/** A gate, told when somebody begins to wait for the body, and asked when it is there; a gate that says no has answered. */
interface BodyGate {
  readonly awaited: () => void
  readonly enter: () => boolean
  /** Settles when a body of so many bytes may be processed; rejects with Gone when it was turned away. */
  readonly turn: (bytes: number) => Promise<void> | undefined
}

/** Sets the gate of the body. */
export function guardBody({ state }: Pick<Exchange, 'state'>, gate: BodyGate): void {
  state['gate'] = gate
}

/** True when the request says that a body follows. */
export function hasBody(req: IncomingMessage): boolean {
  return Number(req.headers['content-length'] ?? 0) > 0 || req.headers['transfer-encoding'] !== undefined
}

/** Tells the gate that the body is now waited for, for a caller that reads it another way. */
export function awaitBody(exchange: Pick<Exchange, 'state'>): void {
  gateOf(exchange)?.awaited()
}

/** Admits a request whose body is there, for a caller that has read it another way. Throws Gone. */
export function admit(exchange: Pick<Exchange, 'state'>): void {
  if (!isLetIn(exchange)) throw new Gone()
}

function isLetIn(exchange: Pick<Exchange, 'state'>): boolean {
  return gateOf(exchange)?.enter() !== false
}

function gateOf({ state }: Pick<Exchange, 'state'>): BodyGate | undefined {
  return state['gate'] as BodyGate | undefined
}

/** Reads the body, and gives up as soon as it has too many bytes. Rejects with BodyTooLarge and Gone. */
export function readBody(exchange: Pick<Exchange, 'req' | 'state'>, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const { req } = exchange
    if (req.destroyed) throw new Gone()
    if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge(maxBytes)
    awaitBody(exchange)
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
      if (!isLetIn(exchange)) return reject(new Gone())
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      const turn = gateOf(exchange)?.turn(size)
      if (turn) void turn.then(() => resolve(body), reject)
      else resolve(body)
    })
    // `close` comes after every request; an error object each time would cost as much as reading the JSON. Without a
    // listener for errors, Node reports a broken connection by nothing else.
    req.on('close', () => {
      if (!req.complete) reject(new Gone())
    })
  })
}
