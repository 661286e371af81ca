/** The HTML pages: our own templates, everything in them escaped. */
import { join } from 'node:path'
import nunjucks from 'nunjucks'
import type { Settings } from '../core/settings.ts'
import { paths } from '../oauth/urls.ts'

/** Renders a page by the name of its view. */
export type Render = (view: string, data?: Readonly<Record<string, unknown>>) => string

/** Prepares the pages of a site. */
export function createViews(deps: { settings: () => Settings }): Render {
  const loader = new nunjucks.FileSystemLoader(join(import.meta.dirname, 'views'))
  const environment = new nunjucks.Environment(loader, {
    autoescape: true,
    throwOnUndefined: true,
    trimBlocks: true,
    lstripBlocks: true,
  })
  return (view, data = {}) => {
    const { server, oauth } = deps.settings()
    const warning = oauth.skip_authorization
      ? 'skip_authorization is on: apps get access without asking. This is for testing only.'
      : ''
    return environment.render(`${view}.njk`, { site: server.display_name, paths, warning, ...data })
  }
}
