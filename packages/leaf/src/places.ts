/** Places in texts, as people look them up. */

/** A place, or a row and a column of a sheet; both count from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** Returns the place of a character, which is given by the number of characters before it. */
export function placeIn(text: string, offset: number): Place {
  const lines = text.slice(0, Math.max(0, offset)).split('\n')
  return { line: lines.length, column: lines.at(-1)!.length + 1 }
}

/** Returns the same place as messages write it. */
export function placeAt(text: string, offset: number): string {
  const { line, column } = placeIn(text, offset)
  return `line ${line}, column ${column}`
}
