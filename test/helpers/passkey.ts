/** A device that keeps one passkey and says that it checked who holds it, for tests without a browser. */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

const [present, verified, attested] = [0x01, 0x04, 0x40]

export class SoftPasskey {
  /** The credential's id; whoever knows another's may claim it. */
  readonly id: string
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

  constructor(id = randomBytes(32).toString('base64url')) {
    this.id = id
  }

  /** What a browser sends after `navigator.credentials.create`, for the options that a page holds. */
  create(page: string, origin: string): string {
    const { challenge, rp } = optionsIn(page) as { challenge: string; rp: { id: string } }
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' })
    const coordinates = [x!, y!].map((part) => new Uint8Array(Buffer.from(part, 'base64url')))
    const key = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, coordinates[0]!],
      [-3, coordinates[1]!],
    ])
    const id = Buffer.from(this.id, 'base64url')
    const authData = Buffer.concat([
      this.#head(rp.id, present | verified | attested),
      Buffer.alloc(16),
      Buffer.from([id.length >> 8, id.length & 0xff]),
      id,
      isoCBOR.encode(key),
    ])
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', new Uint8Array(authData)],
    ])
    return this.#answer({
      clientDataJSON: clientData('webauthn.create', challenge, origin).toString('base64url'),
      attestationObject: Buffer.from(isoCBOR.encode(attestation as never)).toString('base64url'),
      transports: ['internal'],
    })
  }

  /** The same for `navigator.credentials.get`. */
  get(page: string, origin: string): string {
    const { challenge, rpId } = optionsIn(page) as { challenge: string; rpId: string }
    const data = clientData('webauthn.get', challenge, origin)
    const authenticatorData = this.#head(rpId, present | verified)
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(data).digest()])
    return this.#answer({
      clientDataJSON: data.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', signed, this.#keys.privateKey).toString('base64url'),
    })
  }

  #head(host: string, flags: number): Buffer {
    return Buffer.concat([createHash('sha256').update(host).digest(), Buffer.from([flags, 0, 0, 0, 0])])
  }

  #answer(response: Record<string, unknown>): string {
    const { id } = this
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response })
  }
}

function clientData(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

function optionsIn(page: string): unknown {
  return JSON.parse(/data-options="([^"]+)"/.exec(page)![1]!.replaceAll('&quot;', '"'))
}
