/** A manual as tests read it: what its reader types, in the order of the text. */
import assert from 'node:assert/strict'

export interface Block {
  readonly language: string
  readonly text: string
}

/** The blocks of code. */
export function blocksOf(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))
}

/** The command lines of a block, without what explains them. */
export function commandsOf({ text }: Block): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter(Boolean)
}

/** The settings with the keys of a snippet changed; they must be there already. */
export function mergeSettings(settings: string, snippet: string): string {
  let merged = settings
  for (const line of snippet.split('\n')) {
    const [, indent, key, value] = /^( *)(\w+): (.+)$/.exec(line) ?? []
    if (key === undefined) continue
    const there = new RegExp(`^${indent}${key}: .*$`, 'm')
    assert.match(merged, there)
    merged = merged.replace(there, `${indent}${key}: ${value}`)
  }
  return merged
}
