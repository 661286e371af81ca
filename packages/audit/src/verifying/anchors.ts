import { AppError } from '#leaf/errors.ts'
import { diskFaultText } from '#leaf/files.ts'
import { readLines } from '#state/lines.ts'
import type { KnownLine } from './known-log.ts'

/**
 * Reads the anchors of a log from a file of lines: checkpoints as syslog or the webhook brought them,
 * whatever surrounds them on their line, and copies of `head.json`.
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

/** Reads the same from a named file. AppError `invalid` when it cannot be read or holds none: it would prove nothing. */
export async function knownAnchors(path: string): Promise<KnownLine[]> {
  const anchors = await readAnchors(path).catch((error: unknown) => {
    throw new AppError('invalid', `${path}: ${diskFaultText(error)}`)
  })
  if (anchors.length > 0) return anchors
  throw new AppError('invalid', `${path}: there is neither a checkpoint of an audit log in it nor a head`)
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
  // A checkpoint names the line before it; its own text may have been rewritten on its way.
  if (type === 'audit.checkpoint' && typeof prev === 'string') {
    const by = typeof writer === 'string' ? { writer } : {}
    return { seq: seq - 1, hash: prev, ...by }
  }
  return typeof hash === 'string' && typeof signed === 'string' ? { seq, hash } : undefined
}
