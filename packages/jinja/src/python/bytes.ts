/** What `'…'.encode()` makes: enough of bytes to print, measure and decode again. */
import { Bound } from '../bound.ts'
import { native } from '../binding.ts'
import { Fault, type Run } from '../limits.ts'
import { wantText } from '../native-arguments.ts'
import { escapeChar } from './repr.ts'
import type { Iter, Thing, Value } from '../values.ts'

const decode = native('encoding? errors?', (_env, self, encoding, errors) =>
  decoded((self as Bytes).data, encoding, errors),
)
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
  return byte >= 32 && byte < 127 ? String.fromCharCode(byte) : escapeChar(byte)
}

/** The encodings that there are, by their names in Python, and how many characters the simple ones know. */
const encodings: readonly (readonly [names: RegExp, name: string, size: number])[] = [
  [/^(utf-?8|u8)$/, 'utf-8', Infinity],
  [/^(latin-?1|iso-?8859-1|8859|l1)$/, 'latin-1', 256],
  [/^(us-)?ascii$|^646$/, 'ascii', 128],
]

function encodingNamed(value: Value | undefined): { name: string; size: number } {
  const wanted = value === undefined ? 'utf-8' : wantText(value, 'encoding')
  const plain = wanted.toLowerCase().replaceAll(/[ _]/g, '-')
  const [, name, size] = encodings.find(([names]) => names.test(plain)) ?? []
  if (name === undefined || size === undefined) throw new Fault('LookupError', `unknown encoding: ${wanted}`)
  return { name, size }
}

/** What a text is in an encoding; a Fault for characters that it does not have, unless they are left out or replaced. */
export function encoded(text: string, encoding: Value | undefined, errors: Value | undefined): Bytes {
  const { name, size } = encodingNamed(encoding)
  const instead = errors === undefined ? 'strict' : wantText(errors, 'errors')
  if (size === Infinity) return new Bytes(new TextEncoder().encode(text))
  const bytes: number[] = []
  for (const [position, character] of Array.from(text).entries()) {
    const code = character.codePointAt(0)!
    if (code < size) bytes.push(code)
    else if (instead === 'replace') bytes.push(63)
    else if (instead === 'xmlcharrefreplace') bytes.push(...Buffer.from(`&#${code};`))
    else if (instead !== 'ignore')
      throw new Fault(
        'UnicodeEncodeError',
        `'${name}' codec can't encode character '${escapeChar(code)}' in position ${position}: ordinal not in range(${size})`,
      )
  }
  return new Bytes(Uint8Array.from(bytes))
}

function decoded(data: Uint8Array, encoding: Value | undefined, errors: Value | undefined): string {
  const { name, size } = encodingNamed(encoding)
  const strict = errors === undefined || wantText(errors, 'errors') === 'strict'
  if (size === 256) return Buffer.from(data).toString('latin1')
  const wrong = size === 128 ? data.findIndex((byte) => byte >= size) : -1
  try {
    if (wrong === -1 || !strict) return new TextDecoder('utf-8', { fatal: strict }).decode(data)
  } catch {
    // Told below, as what is no ASCII is.
  }
  throw new Fault('UnicodeDecodeError', `'${name}' codec can't decode bytes that are none of its own`)
}
