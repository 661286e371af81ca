/** Forms that pages send. */
import type { IncomingMessage } from 'node:http'
import type { Context, Middleware } from 'koa'
import { AppError } from '#leaf/errors.ts'
import { admit, awaitBody, BodyTooLarge, Gone, readBody } from '#front/request-body.ts'
import { isOfType, type Params, readParams } from './requests.ts'

const formLimit = 65_536

/** A file that was sent with a form. */
export interface SentFile {
  readonly name: string
  readonly type: string
  readonly content: Uint8Array
}

/** The parameters of a form, with the file that it sent, if it may send one. */
export interface PageForm extends Params {
  readonly file?: SentFile
}

/** The most bytes of a form, and of the file that it may send besides. */
export interface FormLimits {
  readonly largest?: number | undefined
  readonly largestFile?: number | undefined
}

/** Reads the parameters of a page's form. AppError `invalid` when it is something else, BodyTooLarge above the limit. */
export async function readPageForm(
  ctx: Context,
  { largest: limit = formLimit, largestFile }: FormLimits = {},
): Promise<PageForm> {
  if (largestFile !== undefined && isOfType(ctx, 'multipart/form-data'))
    return readParts(ctx, limit + largestFile)
  if (!isOfType(ctx, 'application/x-www-form-urlencoded'))
    throw new AppError('invalid', 'the body must be application/x-www-form-urlencoded')
  if (!['', 'identity'].includes(ctx.get('Content-Encoding')))
    throw new AppError('invalid', 'Content-Encoding is not supported')
  return readParams(new URLSearchParams(await textOf(ctx, limit)))
}

/** Reads a form of parts (RFC 7578), which the browser sends for a form with a file. */
async function readParts(ctx: Context, limit: number): Promise<PageForm> {
  const body = await readBody(ctx, limit).catch(async (error: unknown) => {
    const length = Number(ctx.get('Content-Length'))
    // A browser shows an answer only once it has sent its file; one far too large is cut off.
    if (error instanceof BodyTooLarge && length > 0 && length <= 10 * limit) await endOf(ctx.req)
    else ctx.set('Connection', 'close')
    throw error
  })
  const type = ctx.get('Content-Type')
  if (!isModest(body, type)) throw new AppError('invalid', 'the body cannot be read')
  const texts = new URLSearchParams()
  let file: SentFile | undefined
  try {
    const parts = await new Response(body, { headers: { 'content-type': type } }).formData()
    for (const [name, part] of parts)
      if (typeof part === 'string') texts.append(name, part)
      else if (part.name !== '' || part.size > 0)
        file = { name: part.name, type: part.type, content: new Uint8Array(await part.arrayBuffer()) }
  } catch (cause) {
    throw new AppError('invalid', 'the body cannot be read', { cause })
  }
  return { ...readParams(texts), ...(file && { file }) }
}

function endOf(req: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    req.once('end', resolve).once('close', resolve).resume()
  })
}

/** The most parts of a form, and the most bytes that say what a part is: each costs its reader a multiple of its bytes. */
const mostParts = 200
const longestHeader = 4096
// As browsers write it: a boundary that others find elsewhere would be counted in vain.
const boundaryOf = /^multipart\/form-data; ?boundary=("?)([\w'()+,./:=?-]{1,70})\1$/i

function isModest(body: Buffer, type: string): boolean {
  const [, , boundary] = boundaryOf.exec(type) ?? []
  if (boundary === undefined) return false
  const mark = `--${boundary}`
  let parts = 0
  for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + mark.length)) {
    const end = body.indexOf('\r\n\r\n', at)
    const isLast = body.subarray(at + mark.length, at + mark.length + 2).toString() === '--'
    if (++parts > mostParts || (!isLast && (end < 0 || end - at > longestHeader))) return false
  }
  return true
}

// One reader for each of the few limits: making one costs as much as reading a form.
const readers = new Map<number, Middleware>()

async function textOf(ctx: Context, limit: number): Promise<string> {
  let reader = readers.get(limit)
  if (!reader) {
    // Loaded when the first form comes: its 160 files are a tenth of a start.
    const { koaBody } = await import('koa-body')
    reader = koaBody({ json: false, urlencoded: false, textTypes: ['*/*'], textLimit: limit })
    readers.set(limit, reader)
  }
  awaitBody(ctx)
  try {
    await reader(ctx, () => Promise.resolve())
  } catch (cause) {
    if (!ctx.req.complete && ctx.req.destroyed) throw new Gone()
    ctx.set('Connection', 'close')
    if ((cause as { status?: unknown }).status === 413) throw new BodyTooLarge(limit)
    throw new AppError('invalid', 'the body cannot be read', { cause })
  }
  admit(ctx)
  const text: unknown = ctx.request.body ?? ''
  // Bytes that are not UTF-8 were decoded to replacement characters.
  if (typeof text !== 'string' || text.includes('\ufffd'))
    throw new AppError('invalid', 'the body is not UTF-8')
  return text
}
