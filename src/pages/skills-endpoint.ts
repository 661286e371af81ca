/** Skills for people: which there are, each as a page, and the files beside it. It only reads. */
import { posix } from 'node:path'
import type { Middleware } from 'koa'
import { AppError } from '../core/errors.ts'
import { answerPage } from '../oauth/browser-middleware.ts'
import { paths } from '../oauth/urls.ts'
import { forUsers, partsBelow, type UserPageDeps } from './desk-endpoint.ts'
import { viewed } from './viewing.ts'

const mainFile = 'SKILL.md'
/** A page shows so much of a file; the whole is for those who read it by program. */
const mostCharacters = 40_000

/** GET: the skills that the user may read. */
export function skillsEndpoint(deps: UserPageDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const skills = await viewed(deps.audit, user, { type: 'skill.view' }, (principal) =>
      Promise.resolve(deps.site.current().library.for(principal).skills(principal)),
    )
    answerPage(ctx, 200, deps.render(ctx, 'skills', { skills }))
  })
}

/** GET: one skill, or a file of it; what is no text is downloaded and never shown as a page of ours. */
export function skillEndpoint(deps: UserPageDeps): Middleware {
  return forUsers(deps, async (ctx, user) => {
    const [name = '', , ...rest] = partsBelow(ctx, paths.skills)
    const skill = await viewed(deps.audit, user, { type: 'skill.view', target: name }, (principal) =>
      Promise.resolve(deps.site.current().library.for(principal).skill(principal, name)),
    )
    const { files } = skill
    const path = rest.length === 0 ? mainFile : rest.join('/')
    const file = files.find((one) => one.path === path)
    if (!file) throw new AppError('not_found', 'there is no such file')
    if (!file.text) {
      ctx.status = 200
      ctx.type = 'application/octet-stream'
      ctx.attachment(posix.basename(path))
      ctx.body = Buffer.from(file.bytes)
      return
    }
    const whole = Buffer.from(file.bytes).toString('utf8')
    const cut = whole.length > mostCharacters
    const text = whole.slice(0, mostCharacters)
    // When the first skill is read: a start has no use for it.
    const { leadsOutside, markdownHtml } = await import('./markdown.ts')
    const hrefOf = (to: string): string => `${paths.skills}/${encodeURIComponent(name)}/files/${pathText(to)}`
    const leads = (href: string): string | undefined => {
      const to = relativeTo(path, href)
      return files.some((one) => one.path === to) ? hrefOf(to) : leadsOutside(href)
    }
    const html = path.endsWith('.md') ? markdownHtml(bodyOf(text), leads) : undefined
    const others = files.map((one) => ({ path: one.path, href: hrefOf(one.path), isHere: one.path === path }))
    answerPage(ctx, 200, deps.render(ctx, 'skill', { skill, path, text, html, cut, files: others }))
  })
}

/** A path as an address names it, part by part. */
function pathText(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** The file that a link in another means. */
function relativeTo(path: string, href: string): string {
  try {
    return posix.join(posix.dirname(path), decodeURIComponent(href.replace(/#.*$/s, '')))
  } catch {
    return ''
  }
}

/** What stands below the front matter. */
function bodyOf(text: string): string {
  return text.replace(/^---[ \t]*\r?\n[^]*?^---[ \t]*(?:\r?\n|$)/m, '')
}
