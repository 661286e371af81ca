import { CST, Lexer } from 'yaml'

/**
 * True when the text nests deeper than `most`, found without parsing it: the parser's memory grows
 * with the square of the depth, and 100 kB of "[" would end the process. Depth by indentation needs
 * no such check, because each level costs a line that is longer than the last.
 */
export function isTooDeep(text: string, most: number): boolean {
  if (!isSuspicious(text, most)) return false
  let flow = 0
  let inLine = 0
  for (const token of new Lexer().lex(text)) {
    switch (CST.tokenType(token)) {
      case 'flow-seq-start':
      case 'flow-map-start':
        flow++
        break
      case 'flow-seq-end':
      case 'flow-map-end':
        flow--
        break
      case 'seq-item-ind':
      case 'explicit-key-ind':
        inLine++
        break
      case 'newline':
        inLine = 0
        break
      default:
    }
    if (flow > most || inLine > most) return true
  }
  return false
}

/** A cheap first check with false positives only: most files have not even that many brackets, or dashes in a line. */
function isSuspicious(text: string, most: number): boolean {
  let brackets = 0
  let inLine = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '[' || char === '{') brackets++
    else if (char === '-' || char === '?') inLine++
    else if (char === '\n') inLine = 0
    if (brackets > most || inLine > most) return true
  }
  return false
}
