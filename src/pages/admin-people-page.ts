/** The people of the site: who there is, what each may do and why, and what acts for them. */
import { AppError } from '../core/errors.ts'
import { hasRole, systemManager } from '../core/principal.ts'
import { administrationPage, asked, endings, firstRows, type AdministrationDeps } from './administration.ts'
import type { OwnPage, Visit } from './own-page.ts'

/** The page: everybody, or one person. */
export function adminPeoplePage(deps: AdministrationDeps): OwnPage {
  return administrationPage('people', {
    show: async (visit) => {
      const people = await deps.ask(visit, 'users.list', {})
      const user = asked(visit, 'user')
      if (user !== '') {
        const person = people.find((one) => one.user === user.toLowerCase())
        if (!person) throw new AppError('not_found', 'nothing is at this address')
        return { person, ...(await aboutOne(visit, person.user, deps)) }
      }
      const find = asked(visit, 'find')
      const fits = people.filter(({ user: id, full_name, roles }) =>
        [id, full_name, ...roles].join('\n').toLowerCase().includes(find.toLowerCase()),
      )
      return { person: null, find, people: firstRows(fits) }
    },
    deeds: endings(deps),
  })
}

async function aboutOne(
  visit: Visit,
  user: string,
  { ask, clock }: AdministrationDeps,
): Promise<Record<string, unknown>> {
  const [subject, client, name] = [asked(visit, 'subject'), asked(visit, 'client'), asked(visit, 'name')]
  // Whether there is a document of some name, the admin of the assistant need not learn.
  const mayName = hasRole(visit.user, systemManager)
  const through = client === '' ? {} : { client }
  const document = mayName && name !== '' ? { name } : {}
  const explained =
    subject === ''
      ? {}
      : await ask(visit, 'access.explain', { user, subject, ...through, ...document }).then(
          (explanation) => ({ explanation }),
          (error: unknown) => {
            if (error instanceof AppError) return { refused: error.message }
            throw error
          },
        )
  const overview = await ask(visit, 'access.overview', { user })
  const [grants, tokens, keys] = await Promise.all([
    ask(visit, 'grants.list', { user }),
    ask(visit, 'tokens.list', { user }),
    ask(visit, 'api_keys.list', { user }),
  ])
  const now = clock.now()
  return {
    explanation: null,
    refused: '',
    ...explained,
    asked: { subject, client, name },
    mayName,
    overview,
    grants: firstRows(grants),
    tokens: firstRows(tokens.filter(({ status }) => status === 'Active')),
    keys: firstRows(
      keys.filter(
        ({ status, expires }) => status === 'Active' && (expires === null || Date.parse(expires) > now),
      ),
    ),
  }
}
