/** The registered apps: which exist, who allowed each, the tokens that act through each, and ending all of it. */
import { AppError } from '#leaf/errors.ts'
import type { Services } from '../../house/services.ts'
import { asked } from '#ui/requests.ts'
import { administrationPage, askerOf, ending, endings, firstRows } from './administration.ts'
import type { OwnPage } from '../own-page.ts'

/** Makes the page, which shows every client, or one. */
export function adminClientsPage(services: Services): OwnPage {
  const ask = askerOf(services)
  return administrationPage({
    show: async (visit) => {
      const id = asked(visit.ctx, 'client')
      if (id === '') {
        const find = asked(visit.ctx, 'find')
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
      ...endings(ask),
      remove: ending((visit, id) => ask(visit, 'clients.remove', { client_id: id })),
      'client-revoke': ending((visit, id) => ask(visit, 'tokens.revoke', { client: id })),
    },
  })
}
