/** Files that pages load: texts that are compressed once, pictures, and the stylesheet and script of forms and lists themselves. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import type { Context, Middleware } from 'koa'
import { sha256 } from '#leaf/secrets.ts'
import { packingFiles } from './packing.ts'
import { pathPart } from './requests.ts'

const mediaTypes = {
  css: 'text/css; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
} as const

/** Returns a file of ours: the stylesheet of every page, or the script for what no form can do. */
export function ownFile(name: 'pages.css' | 'forms.mjs'): string {
  return readFileSync(join(import.meta.dirname, 'views', name), 'utf8')
}

/** Answers GET with a text that is the same for everybody, compressed once. */
export function textEndpoint(kind: 'css' | 'mjs', text: () => string): Middleware {
  const pack = packingFiles()
  return (ctx) => {
    answerAsset(ctx, kind)
    pack(ctx, text())
  }
}

/** Answers GET with the picture of a folder that the address names, or always with `only`. */
export function iconEndpoint(folder: string, only?: string): Middleware {
  const icons = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
  return (ctx) => {
    const name = only ?? pathPart(ctx, 'name')
    const bytes = icons.get(name)
    if (bytes) answerPicture(ctx, name, bytes)
  }
}

/** Answers with a picture, whose kind its name says. */
export function answerPicture(ctx: Context, name: string, bytes: Uint8Array): void {
  answerAsset(ctx, name.endsWith('.png') ? 'png' : 'svg')
  ctx.body = Buffer.from(bytes)
}

/** A large script with an address that changes with it. */
export interface PinnedScript {
  readonly address: string
  readonly script: Buffer
}

/** Returns a script whose digest stands in its path for `:file`; undefined where the build lacked what it is made of. */
export function pinnedIn(file: string, path: string): PinnedScript | undefined {
  if (!existsSync(file)) return undefined
  const script = readFileSync(file)
  return { address: path.replace(':file', `${sha256(script).slice(0, 16)}.mjs`), script }
}

/** Answers GET with such a script, which browsers need not ask for again. It is large: it is compressed once, in a thread. */
export function pinnedEndpoint(pinned: PinnedScript | undefined): Middleware {
  let packed: Promise<Buffer> | undefined
  return async (ctx) => {
    if (ctx.path !== pinned?.address) return
    answerAsset(ctx, 'mjs')
    ctx.body = pinned.script
    ctx.set('Cache-Control', 'public, max-age=31536000, immutable')
    ctx.vary('Accept-Encoding')
    if (ctx.acceptsEncodings('br') !== 'br') return
    ctx.body = await (packed ??= promisify(brotliCompress)(pinned.script))
    ctx.set('Content-Encoding', 'br')
  }
}

function answerAsset(ctx: Context, kind: keyof typeof mediaTypes): void {
  ctx.set({ 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' })
  ctx.type = mediaTypes[kind]
}
