/** The state of the service: what runs, faults of the site, results of readiness and `doctor`, and how full its limits are. */
import type { Services } from '../../house/services.ts'
import { administrationPage, askerOf } from './administration.ts'
import type { OwnPage } from '../own-page.ts'

const kinds = ['mcp', 'preview', 'write', 'token', 'register', 'authorize'] as const

/** Makes the page. */
export function adminHealthPage(services: Services): OwnPage {
  const ask = askerOf(services)
  return administrationPage({
    script: true,
    show: async (visit) => {
      const status = await ask(visit, 'status', {})
      const { rate_limits: limits, server } = services.settings()
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
