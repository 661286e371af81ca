import { operations, type Operations } from '../control/index.ts'
import { runOperation } from '../control/operation.ts'
import { originOf } from '../oauth/http-middleware.ts'
import { adminClientsPage } from '../pages/admin-clients-page.ts'
import { adminFilesPage } from '../pages/admin-files-page.ts'
import { adminHealthPage } from '../pages/admin-health-page.ts'
import { adminPeoplePage } from '../pages/admin-people-page.ts'
import { adminToolsPage } from '../pages/admin-tools-page.ts'
import type { Ask } from '../pages/administration.ts'
import type { OwnPage } from '../pages/own-page.ts'
import type { Render } from '../pages/views.ts'
import type { Services } from './services.ts'
import { createSiteEditor } from './site-editor.ts'

/** The pages of the administration, which ask the operations of the command line in the name of whoever looks. */
export function administrationPages(services: Services, render: Render): readonly OwnPage[] {
  const { signal } = new AbortController()
  const ask: Ask = ({ ctx, user }, name, params) => {
    const by = { user: user.id, ...originOf(ctx) }
    const answer = runOperation(operations[name], params, by, { services, signal, daemon: true })
    return answer as Promise<Awaited<ReturnType<Operations[typeof name]['run']>>>
  }
  const deps = { ...services, ask, render, desk: createSiteEditor(services) }
  return [adminHealthPage, adminPeoplePage, adminToolsPage, adminClientsPage, adminFilesPage].map((make) =>
    make(deps),
  )
}
