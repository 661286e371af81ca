/** Turns others' markdown into harmless HTML: no HTML of its own, no pictures, and links only where they may lead. */
import MarkdownIt from 'markdown-it'

/** Returns the target of a link; undefined where it must not lead. */
type Leads = (href: string) => string | undefined

interface Around {
  readonly leads: Leads
  /** For each link open at this place, true when it became a link. */
  readonly open: boolean[]
}

const reader = new MarkdownIt({ html: false, linkify: false })
const around = (env: unknown): Around => env as Around
const { escapeHtml } = reader.utils

reader.renderer.rules['link_open'] = (tokens, index, _options, env) => {
  const to = around(env).leads(String(tokens[index]!.attrGet('href') ?? ''))
  around(env).open.push(to !== undefined)
  return to === undefined ? '' : `<a href="${escapeHtml(to)}" rel="noreferrer nofollow">`
}
reader.renderer.rules['link_close'] = (_tokens, _index, _options, env) =>
  around(env).open.pop() ? '</a>' : ''
// The policy of the pages lets no picture load, so its description is shown, with a link to it.
reader.renderer.rules['image'] = (tokens, index, _options, env) => {
  const token = tokens[index]!
  const words = escapeHtml(token.content)
  const to = around(env).open.includes(true)
    ? undefined
    : around(env).leads(String(token.attrGet('src') ?? ''))
  return to === undefined
    ? words
    : `<a href="${escapeHtml(to)}" rel="noreferrer nofollow">${words || '…'}</a>`
}
reader.renderer.rules['table_open'] = () => '<div class="scroll" tabindex="0"><table>'
reader.renderer.rules['table_close'] = () => '</table></div>'
// Headings go down a level, as the page has its own first heading.
for (const [rule, slash] of [
  ['heading_open', ''],
  ['heading_close', '/'],
] as const)
  reader.renderer.rules[rule] = (tokens, index) =>
    `<${slash}h${Math.min(6, Number(tokens[index]!.tag.slice(1)) + 1)}>`

/** Renders a text as HTML. */
export function markdownHtml(text: string, leads: Leads): string {
  return reader.render(text, { leads, open: [] } satisfies Around)
}

/** Allows links to other sites and addresses of people; nothing that runs, and nothing that names a page of ours by itself. */
export function leadsOutside(href: string): string | undefined {
  return /^(https?:\/\/|mailto:)/i.test(href) && URL.canParse(href) ? href : undefined
}
