/** The files of the pages: stylesheet, script, the editor of prompts, and the pictures. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Middleware } from 'koa'
import type { Site } from '#site/site.ts'
import { answerPicture, pinnedIn, ownFile, textEndpoint } from '#ui/pages.ts'
import type { Settings } from '../core/settings.ts'
import type { Snapshot } from '../house/snapshot.ts'
import { stylesheetOf } from './company.ts'
import { pages } from './pages.ts'

const views = join(import.meta.dirname, 'views')

/** The folder of the pictures. */
export const icons = join(views, 'icons')

/** Answers GET with the stylesheet, in the company's colour. */
export function stylesheetEndpoint(settings: () => Settings): Middleware {
  return textEndpoint('css', () => stylesheetOf(settings()))
}

/** Answers GET with the one script, for pages that need what no form can do. */
export function scriptEndpoint(): Middleware {
  const script = ownFile('forms.mjs') + readFileSync(join(views, 'page.mjs'), 'utf8')
  return textEndpoint('mjs', () => script)
}

/** The editor of prompts; undefined where the build lacked the packages that it is made of. */
export const promptEditor = pinnedIn(join(views, 'prompt-editor.mjs'), pages.promptEditorScript.path)

/** Answers GET with the company's logo. */
export function logoEndpoint(site: Pick<Site<Snapshot>, 'current'>): Middleware {
  return (ctx) => {
    const { settings, logo } = site.current()
    if (!logo) return
    // A drawing may hold scripts; opened by itself, it must not run as one of our pages.
    ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
    answerPicture(ctx, settings.company.logo ?? '', logo)
  }
}
