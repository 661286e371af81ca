/** What `'…'.encode()` makes: enough of bytes to print, measure and decode again. */
import { Bound } from './bound.ts'
import { native } from './binding.ts'
import type { Run } from './limits.ts'
import type { Iter, Thing, Value } from './values.ts'

const decode = native('encoding? errors?', (_env, self) => new TextDecoder().decode((self as Bytes).data))
const hex = native('/', (_env, self) => Buffer.from((self as Bytes).data).toString('hex'))

/** A sequence of bytes. */
export class Bytes implements Thing {
  readonly type = 'bytes'
  readonly data: Uint8Array

  constructor(data: Uint8Array) {
    this.data = data
  }

  attribute(name: string): Value | undefined {
    if (name === 'decode') return new Bound(this, name, decode)
    return name === 'hex' ? new Bound(this, name, hex) : undefined
  }

  size(): number {
    return this.data.length
  }

  iterate(run: Run): Iter {
    const values = this.data.values()
    return {
      next() {
        run.tick(1)
        return values.next().value
      },
    }
  }

  show(run: Run): string {
    run.text(this.data.length * 4)
    const text = Array.from(this.data, byteText).join('')
    const double = text.includes("'") && !text.includes('"')
    return double ? `b"${text}"` : `b'${text.replaceAll("'", "\\'")}'`
  }
}

const NAMED = new Map([
  [9, '\\t'],
  [10, '\\n'],
  [13, '\\r'],
  [92, '\\\\'],
])

function byteText(byte: number): string {
  const named = NAMED.get(byte)
  if (named !== undefined) return named
  return byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`
}
