/** What the pages of the administration have in common: for whom they are, and how they ask what the command line asks. */
import type { Services } from '../build/services.ts'
import { operations, type Operations } from '../control/index.ts'
import { runOperation } from '../control/operation.ts'
import { AppError } from '../core/errors.ts'
import { assistantAdmin, hasRole } from '../core/principal.ts'
import { originOf } from '../oauth/http-middleware.ts'
import { paths } from '../oauth/urls.ts'
import type { User } from '../users/people.ts'
import type { Deed, OwnPage, OwnPageDeps, Visit } from './own-page.ts'

/** Asks what an operator can ask, in the name of whoever looks at the page. */
export type Ask = ReturnType<typeof askerOf>

/** What asks the operations of the command line, over everything that there is. */
export function askerOf(services: Services) {
  const { signal } = new AbortController()
  return async <Name extends keyof Operations>(
    { ctx, user }: Visit,
    name: Name,
    params: Parameters<Operations[Name]['run']>[0],
  ) => {
    const by = { user: user.id, ...originOf(ctx) }
    const answer = await runOperation(operations[name], params, by, { ...services, signal, daemon: true })
    return answer as Awaited<ReturnType<Operations[Name]['run']>>
  }
}

/** What these pages work with. */
export interface AdministrationDeps extends OwnPageDeps {
  readonly ask: Ask
}

/** The pages, as they stand beside each other. */
const places = [
  { path: paths.admin, name: 'admin.health' },
  { path: `${paths.admin}/people`, name: 'admin.people' },
  { path: `${paths.admin}/tools`, name: 'admin.tools' },
  { path: `${paths.admin}/clients`, name: 'admin.clients' },
  { path: `${paths.admin}/files`, name: 'admin.files' },
] as const

/** Most rows of one table; what else there is, a filter finds. */
const mostRows = 100

/** A page of the administration: for its two roles, and for others not there. */
export function administrationPage(
  name: 'health' | 'people' | 'tools' | 'clients' | 'files',
  page: Pick<OwnPage, 'deeds' | 'show' | 'largest'>,
): OwnPage {
  const { path } = places.find((place) => place.name === `admin.${name}`)!
  return {
    ...page,
    path,
    view: `admin-${name}`,
    isFor: (user: User) => hasRole(user, assistantAdmin),
    show: async (visit) => ({ ...(await page.show(visit)), places, sourceOf, placeOf }),
  }
}

/** The rows that are shown, and whether there are more. */
export function firstRows<Row>(rows: readonly Row[]): {
  readonly rows: readonly Row[]
  readonly left: number
} {
  return { rows: rows.slice(0, mostRows), left: Math.max(0, rows.length - mostRows) }
}

/** One word of the page's address. */
export function asked({ ctx }: Visit, name: string): string {
  return (new URLSearchParams(ctx.querystring).get(name) ?? '').trim()
}

/** What ends access, by the operations of the command line, which tell the audit log of it. */
export function endings({ ask }: AdministrationDeps): Record<string, Deed> {
  return {
    'token-revoke': ending(async (visit, id) => {
      const { revoked } = await ask(visit, 'tokens.revoke', { token: id })
      if (revoked === 0) throw new AppError('conflict', 'that had ended already')
    }),
    'grant-revoke': ending((visit, id) => {
      const [user = '', client = ''] = id.split(' ')
      return ask(visit, 'tokens.revoke', { user, client })
    }),
    'key-revoke': ending((visit, id) => ask(visit, 'api_keys.revoke', { api_key: id })),
  }
}

/** A form that ends what it names, after a recent sign-in, and shows the page again. */
export function ending(end: (visit: Visit, id: string) => Promise<unknown>): Deed {
  return {
    recent: true,
    run: async (visit, form) => {
      await end(visit, form.get('id') ?? '')
      return undefined
    },
  }
}

/** `config/users.yaml:12` as a place to look at; nothing for what stands in no file. */
function sourceOf(source: string): string {
  const [, file, line = '1'] = /^(config\/[^:]+\.ya?ml)(?::(\d+))?/.exec(source) ?? []
  return file === undefined ? '' : `${paths.admin}/files?file=${encodeURIComponent(file)}#L${line}`
}

/** What a fault of the site begins with. */
function placeOf(fault: string): { readonly place: string; readonly message: string } {
  const [, place = '', message = fault] = /^(\S+:\d+:\d+) (.*)$/s.exec(fault) ?? []
  return { place, message }
}
