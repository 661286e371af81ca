/** Skills for people: a list, each as a page, and the files beside it. Only reads. */
import { posix } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { loadMarkdown } from '#ui/pages.ts'
import { answerDownload, pathPart } from '#ui/requests.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import { pages } from '../pages.ts'
import type { Showing } from '../route-page.ts'
import { viewed } from '../documents/viewing.ts'

const mainFile = 'SKILL.md'
/** The most characters of a file that a page shows; those who read it by program get the whole. */
const mostCharacters = 40_000

/** Answers GET with the skills that the user may read. */
export function skillsEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (_, user) => {
    const skills = await viewed(deps.audit, user, { type: 'skill.view' }, (principal) =>
      Promise.resolve(deps.site.current().library.for(principal).skills(principal)),
    )
    return { skills }
  }
}

/** Answers GET with a skill, or a file of it; a file that is no text is downloaded and never shown as a page of ours. */
export function skillEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (ctx, user) => {
    const name = pathPart(ctx, 'name')
    const skill = await viewed(deps.audit, user, { type: 'skill.view', target: name }, (principal) =>
      Promise.resolve(deps.site.current().library.for(principal).skill(principal, name)),
    )
    const { files } = skill
    const path = pathPart(ctx, 'path') || mainFile
    const file = files.find((one) => one.path === path)
    if (!file) throw new AppError('not_found', 'there is no such file')
    if (!file.text)
      return answerDownload(ctx, posix.basename(path), 'application/octet-stream', Buffer.from(file.bytes))
    const whole = Buffer.from(file.bytes).toString('utf8')
    const cut = whole.length > mostCharacters
    const text = whole.slice(0, mostCharacters)
    // It is imported when the first skill is read: a start has no use for it.
    const { leadsOutside, markdownHtml } = await loadMarkdown()
    const hrefOf = (to: string): string =>
      `${pages.skills.path}/${encodeURIComponent(name)}/files/${pathText(to)}`
    const leads = (href: string): string | undefined => {
      const to = relativeTo(path, href)
      return files.some((one) => one.path === to) ? hrefOf(to) : leadsOutside(href)
    }
    const html = path.endsWith('.md') ? markdownHtml(bodyOf(text), leads) : undefined
    const others = files.map((one) => ({ path: one.path, href: hrefOf(one.path), isHere: one.path === path }))
    return { skill, path, text, html, cut, files: others }
  }
}

/** Encodes a path for an address, part by part. */
function pathText(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** Returns the file that a link in another file points to. */
function relativeTo(path: string, href: string): string {
  try {
    return posix.join(posix.dirname(path), decodeURIComponent(href.replace(/#.*$/s, '')))
  } catch {
    return ''
  }
}

/** Returns the text below the front matter. */
function bodyOf(text: string): string {
  return text.replace(/^---[ \t]*\r?\n[^]*?^---[ \t]*(?:\r?\n|$)/m, '')
}
