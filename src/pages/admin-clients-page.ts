/** The apps that are registered: which there are, who allowed each, the tokens that act through it, and ending all of it. */
import { AppError } from '../core/errors.ts'
import {
  administrationPage,
  asked,
  ending,
  endings,
  firstRows,
  type AdministrationDeps,
} from './administration.ts'
import type { OwnPage } from './own-page.ts'

/** The page: every client, or one. */
export function adminClientsPage(deps: AdministrationDeps): OwnPage {
  const { ask } = deps
  return administrationPage('clients', {
    show: async (visit) => {
      const id = asked(visit, 'client')
      if (id === '') {
        const find = asked(visit, 'find')
        const fits = (await ask(visit, 'clients.list', {})).filter(({ client_id, client_name }) =>
          `${client_id}\n${client_name}`.toLowerCase().includes(find.toLowerCase()),
        )
        return { client: null, find, clients: firstRows(fits) }
      }
      const [client, grants, tokens] = await Promise.all([
        ask(visit, 'clients.show', { client_id: id }).catch((error: unknown) => {
          if (error instanceof AppError && error.code === 'not_found') return undefined
          throw error
        }),
        ask(visit, 'grants.list', { client: id }),
        ask(visit, 'tokens.list', { client: id }),
      ])
      if (!client) throw new AppError('not_found', 'nothing is at this address')
      const live = tokens.filter(({ status }) => status === 'Active')
      return { client, grants: firstRows(grants), tokens: firstRows(live) }
    },
    deeds: {
      ...endings(deps),
      remove: ending((visit, id) => ask(visit, 'clients.remove', { client_id: id })),
      'client-revoke': ending((visit, id) => ask(visit, 'tokens.revoke', { client: id })),
    },
  })
}
