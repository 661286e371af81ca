/** How the service is: what runs, faults of the site, what readiness and `doctor` say, and how full its limits are. */
import type { Settings } from '../core/settings.ts'
import { administrationPage, type AdministrationDeps } from './administration.ts'
import type { OwnPage } from './own-page.ts'

const kinds = ['mcp', 'preview', 'token', 'register', 'authorize'] as const

/** The page. */
export function adminHealthPage(deps: AdministrationDeps & { readonly settings: () => Settings }): OwnPage {
  const { ask } = deps
  return administrationPage('health', {
    show: async (visit) => {
      const status = await ask(visit, 'status', {})
      const { rate_limits: limits, server } = deps.settings()
      const counts = status.requests!.limits
      const budgets = kinds.map((budget) => ({ budget, ...counts[budget], ...limits[budget] }))
      return { status, budgets, most: server.max_concurrent_requests }
    },
    deeds: {
      doctor: {
        run: async (visit) => ({ once: { findings: await ask(visit, 'doctor.examine', {}) } }),
      },
      reload: {
        run: async (visit) => ({ once: { reload: await ask(visit, 'site.reload', {}) } }),
      },
    },
  })
}
