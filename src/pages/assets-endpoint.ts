/** The files of the pages: the one stylesheet that their policy allows, and the pictures. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import type { Context, Middleware } from 'koa'
import type { Snapshot } from '../house/snapshot.ts'
import type { Settings } from '../core/settings.ts'
import type { Site } from '#site/site.ts'
import { packingFiles } from '#ui/pages.ts'
import { sha256 } from '#leaf/secrets.ts'
import { pathPart } from '#ui/requests.ts'
import { stylesheetOf } from './company.ts'
import { pages } from './pages.ts'

const views = join(import.meta.dirname, 'views')

/** Answers GET with the stylesheet, in the company's colour. */
export function stylesheetEndpoint(settings: () => Settings): Middleware {
  const pack = packingFiles()
  return (ctx) => answerFile(ctx, 'text/css; charset=utf-8', stylesheetOf(settings()), pack)
}

/** Answers GET with the one script, for pages that need what no form can do. */
export function scriptEndpoint(): Middleware {
  const script = readFileSync(join(views, 'page.mjs'), 'utf8')
  const pack = packingFiles()
  return (ctx) => answerFile(ctx, 'text/javascript; charset=utf-8', script, pack)
}

/** The editor of prompts, at an address that changes with it; undefined where the build lacked the packages that it is made of. */
export const promptEditor = editorIn(join(views, 'prompt-editor.mjs'))

function editorIn(file: string): { readonly address: string; readonly script: Buffer } | undefined {
  if (!existsSync(file)) return undefined
  const script = readFileSync(file)
  const digest = sha256(script).slice(0, 16)
  return { address: pages.promptEditorScript.path.replace(':file', `${digest}.mjs`), script }
}

/** Answers GET with the editor of prompts, which browsers need not ask for again. It is large: it is compressed once, in a thread. */
export function promptEditorEndpoint(): Middleware {
  let packed: Promise<Buffer> | undefined
  return async (ctx) => {
    if (ctx.path !== promptEditor?.address) return
    answerFile(ctx, 'text/javascript; charset=utf-8', promptEditor.script)
    ctx.set('Cache-Control', 'public, max-age=31536000, immutable')
    ctx.vary('Accept-Encoding')
    if (ctx.acceptsEncodings('br') !== 'br') return
    ctx.body = await (packed ??= promisify(brotliCompress)(promptEditor.script))
    ctx.set('Content-Encoding', 'br')
  }
}

/** Answers GET with the company's logo. */
export function logoEndpoint(site: Pick<Site<Snapshot>, 'current'>): Middleware {
  return (ctx) => {
    const { settings, logo } = site.current()
    if (!logo) return
    // A drawing may hold scripts; opened by itself, it must not run as one of our pages.
    ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
    answerFile(ctx, typeOf(settings.company.logo ?? ''), Buffer.from(logo))
  }
}

/** Answers GET with the picture that the address names, or always with `only`. */
export function iconEndpoint(only?: string): Middleware {
  const folder = join(views, 'icons')
  const icons = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
  return (ctx) => {
    const name = only ?? pathPart(ctx, 'name')
    const bytes = icons.get(name)
    if (bytes) answerFile(ctx, typeOf(name), bytes)
  }
}

function typeOf(name: string): string {
  return name.endsWith('.png') ? 'image/png' : 'image/svg+xml'
}

function answerFile(
  ctx: Context,
  type: string,
  body: Buffer | string,
  pack = (to: Context, file: Buffer | string): void => void (to.body = file),
): void {
  ctx.set({ 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' })
  ctx.type = type
  pack(ctx, body)
}
