/** Every tool with what the site says about it, and where. */
import { administrationPage, type AdministrationDeps } from './administration.ts'
import type { OwnPage } from './own-page.ts'

/** The page. */
export function adminToolsPage({ ask }: AdministrationDeps): OwnPage {
  return administrationPage('tools', {
    show: async (visit) => ({ tools: await ask(visit, 'tools.list', {}) }),
    deeds: {},
  })
}
