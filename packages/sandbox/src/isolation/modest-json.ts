/** Parses hostile JSON, whose sender gains by slow work: its values are counted before it is parsed. */

/** The most values and levels of a message: the readers after the parser take time by both. */
const maxValues = 60_000
const maxDepth = 100

/** Parses a text that is as small as an honest one. Throws for any other, and for invalid JSON. */
export function parseModest(line: Buffer): unknown {
  if (!isModest(line)) throw new RangeError('too many values')
  const text = line.toString('utf8')
  return JSON.parse(text, mayNameProto.test(text) ? withoutProto : undefined)
}

/** Counts without building anything; the content of strings does not count. */
function isModest(line: Buffer): boolean {
  let values = 0
  let depth = 0
  for (let at = 0; at < line.length; at++) {
    const byte = line[at]!
    if (byte === 0x22) {
      // Skips to the quote that ends the string; one after a backslash does not.
      for (at++; at < line.length && line[at] !== 0x22; at++) if (line[at] === 0x5c) at++
    } else if (byte === 0x2c) values++
    else if (byte === 0x5b || byte === 0x7b) {
      values++
      depth++
    } else if (byte === 0x5d || byte === 0x7d) depth--
    if (values > maxValues || depth > maxDepth) return false
  }
  return true
}

/** Matches the only texts that can hold the key, plain or escaped; the others are parsed without looking at every key. */
const mayNameProto = /__proto__|\\u00[567]/i

/** Drops a key that would reach an object's prototype when it is copied by assignment. */
function withoutProto(this: unknown, key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}
