/** The files of the pages: the one stylesheet that their policy allows, and the pictures. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Context, Middleware } from 'koa'
import type { Snapshot } from '../build/snapshot.ts'
import type { Settings } from '../core/settings.ts'
import type { Site } from '../site/kept-site.ts'
import { accentRules } from './company.ts'

/** GET: the stylesheet, in the company's colour. */
export function stylesheetEndpoint(settings: () => Settings): Middleware {
  const sheet = readFileSync(join(views, 'pages.css'), 'utf8')
  return (ctx) => answerFile(ctx, 'text/css; charset=utf-8', sheet + accentRules(settings()))
}

/** GET: the one script, of pages that need what no form can do. */
export function scriptEndpoint(): Middleware {
  const script = readFileSync(join(views, 'page.mjs'), 'utf8')
  return (ctx) => answerFile(ctx, 'text/javascript; charset=utf-8', script)
}

/** GET: the company's logo. */
export function logoEndpoint(site: Pick<Site<Snapshot>, 'current'>): Middleware {
  return (ctx) => {
    const { settings, logo } = site.current()
    if (!logo) return
    // A drawing may hold scripts; opened by itself, it must not run as one of our pages.
    ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
    answerFile(ctx, typeOf(settings.company.logo ?? ''), Buffer.from(logo))
  }
}

/** GET: a picture by its file name. */
export function iconEndpoint(name: string): Middleware {
  const bytes = readFileSync(join(views, 'icons', name))
  return (ctx) => answerFile(ctx, typeOf(name), bytes)
}

/** The pictures that there are. */
export const iconNames = ['server.png', 'server.svg', 'read.svg', 'write.svg', 'destroy.svg'] as const

const views = join(import.meta.dirname, 'views')

function typeOf(name: string): string {
  return name.endsWith('.png') ? 'image/png' : 'image/svg+xml'
}

function answerFile(ctx: Context, type: string, body: Buffer | string): void {
  ctx.set({ 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' })
  ctx.type = type
  ctx.body = body
}
