import { readLines } from '../line-log/read-lines.ts'
import type { KnownLine } from './known-log.ts'

/**
 * What a file of lines says of a log that was sent away: checkpoints as syslog or the webhook brought them,
 * whatever stands around them on their line, and copies of `head.json`.
 */
export async function readAnchors(path: string): Promise<KnownLine[]> {
  const anchors: KnownLine[] = []
  for await (const lines of readLines(path)) {
    for (const { bytes } of lines) {
      const anchor = anchorIn(bytes.toString('utf8'))
      if (anchor) anchors.push(anchor)
    }
  }
  return anchors
}

function anchorIn(text: string): KnownLine | undefined {
  let value: { readonly [key: string]: unknown } | null
  try {
    value = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as typeof value
  } catch {
    return undefined
  }
  const { type, seq, prev, hash, signed, writer } = value ?? {}
  if (typeof seq !== 'number') return undefined
  // A checkpoint names the line before it; its own text may have been written anew on its way.
  if (type === 'audit.checkpoint' && typeof prev === 'string') {
    const by = typeof writer === 'string' ? { writer } : {}
    return { seq: seq - 1, hash: prev, ...by }
  }
  return typeof hash === 'string' && typeof signed === 'string' ? { seq, hash } : undefined
}
