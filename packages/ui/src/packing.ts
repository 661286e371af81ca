/** Answers of pages as they go over the wire: compressed, where that tells nobody what is in them. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { PageExchange } from './browser.ts'

type Encoding = 'br' | 'gzip'

/** Below this, compressing saves less than it costs. */
const leastBytes = 1000
const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_SIZE_HINT: hint } = constants

/** For pages, which are small: fetching a quarter of a megabyte to work in costs as much as compressing one. */
const quick = { level: 4, windowBits: 14, memLevel: 7 }

/** Returns the encoding in which a browser takes an answer, the better one first. */
function encodingFor(ctx: PageExchange): Encoding | undefined {
  const known = ['br', 'gzip'] as const
  return known.find((encoding) => ctx.acceptsEncodings(encoding) === encoding)
}

function packed(text: string | Buffer, encoding: Encoding, effort: number): Buffer {
  const params = { [quality]: effort, [hint]: text.length }
  return encoding === 'br' ? brotliCompressSync(text, { params }) : gzipSync(text, effort < 11 ? quick : {})
}

function answerPacked(ctx: PageExchange, encoding: Encoding, body: Buffer): void {
  ctx.set('Content-Encoding', encoding)
  ctx.body = body
}

/**
 * Compresses the text that a page answers. Only for a person who came from a page of ours or by themselves: whoever can
 * have a page fetched with words of theirs in it, and sees how long it is, could guess the rest of it (BREACH), tokens of forms
 * and documents alike. Browsers say who asks in a header that no page can set; without it nothing is compressed.
 */
export function packPage(ctx: PageExchange): void {
  const { body } = ctx
  if (typeof body !== 'string' || body.length < leastBytes) return
  ctx.vary('Accept-Encoding, Sec-Fetch-Site')
  const encoding = ['same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site')) ? encodingFor(ctx) : undefined
  if (encoding) answerPacked(ctx, encoding, packed(body, encoding, 4))
}

/** Makes the function that answers a file that is the same for everybody, compressed once for each encoding. */
export function packingFiles(): (ctx: PageExchange, file: string | Buffer) => void {
  let last: string | Buffer | undefined
  const known = new Map<Encoding, Buffer>()
  return (ctx, file) => {
    ctx.vary('Accept-Encoding')
    const encoding = file.length < leastBytes ? undefined : encodingFor(ctx)
    if (!encoding) {
      ctx.body = file
      return
    }
    if (file !== last) known.clear()
    last = file
    const body = known.get(encoding) ?? packed(file, encoding, 11)
    known.set(encoding, body)
    answerPacked(ctx, encoding, body)
  }
}
