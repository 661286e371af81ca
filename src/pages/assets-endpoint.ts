/** The files of the pages: the one stylesheet that their policy allows, and the pictures. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Middleware } from 'koa'

/** GET: the stylesheet. */
export function stylesheetEndpoint(): Middleware {
  return file('pages.css', 'text/css; charset=utf-8')
}

/** GET: a picture by its file name. */
export function iconEndpoint(name: string): Middleware {
  return file(`icons/${name}`, name.endsWith('.png') ? 'image/png' : 'image/svg+xml')
}

/** The pictures that there are. */
export const iconNames = ['server.png', 'server.svg', 'read.svg', 'write.svg', 'destroy.svg'] as const

function file(name: string, type: string): Middleware {
  const bytes = readFileSync(join(import.meta.dirname, 'views', name))
  return (ctx) => {
    ctx.set({ 'Cache-Control': 'public, max-age=3600', 'X-Content-Type-Options': 'nosniff' })
    ctx.type = type
    ctx.body = bytes
  }
}
