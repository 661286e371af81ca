/** Every tool, with the site's rules for it and their place. */
import type { Services } from '../../house/services.ts'
import { administrationPage, askerOf } from './administration.ts'
import type { OwnPage } from '../own-page.ts'

/** Makes the page. */
export function adminToolsPage(services: Services): OwnPage {
  const ask = askerOf(services)
  return administrationPage({
    show: async (visit) => ({
      tools: await ask(visit, 'tools.list', {}),
      // Who tries one calls it, as an app of theirs would.
      mayTry: visit.user.assistantEnabled,
    }),
    deeds: {},
  })
}
