/** Texts in lower case as JavaScript makes them, asked of databases whose own lower case is another. */

let upperCases: Map<string, string> | undefined

/** Returns the letters whose lower case is one letter. */
function casesOf(letter: string): string {
  if (!upperCases) {
    upperCases = new Map()
    for (let code = 0; code < 0x1f000; code++) {
      if (code >= 0xd800 && code < 0xe000) continue
      const one = String.fromCodePoint(code)
      const small = one.toLowerCase()
      if (small !== one) upperCases.set(small, (upperCases.get(small) ?? '') + one)
    }
  }
  return upperCases.get(letter) ?? ''
}

/** Returns a regular expression for texts whose lower case is a text. */
export function anyCase(text: string): string {
  return Array.from(text)
    .map((letter) => {
      const others = casesOf(letter)
      if (others !== '') return `[${letter}${others}]`
      return /[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/.test(letter) ? `\\${letter}` : letter
    })
    .join('')
}

/**
 * Returns a regular expression for texts whose lower case is LIKE a pattern, whose `\` escapes. Undefined where the case of
 * a letter depends on those around it, as a sigma's does.
 */
export function likeExpression(pattern: string): string | undefined {
  if (/[\0σς]/.test(pattern)) return undefined
  const parts = [...pattern.matchAll(/\\([^])|(%)|([^\\%]+)/gu)].map(([, escaped, any, plain]) =>
    any === undefined ? anyCase(escaped ?? plain!) : '(?s:.*)',
  )
  const [first, last] = [pattern.startsWith('%'), /(?:^|[^\\])(?:\\\\)*%$/.test(pattern)]
  const inner = parts.slice(first ? 1 : 0, last && parts.length > 1 ? -1 : undefined)
  return `${first ? '' : '\\A'}${inner.join('')}${last ? '' : '\\z'}`
}
