/** The common part of the administration's pages: their links to each other, and questions as on the command line. */
import type { Services } from '../../house/services.ts'
import { operations, type Operations } from '../../control/index.ts'
import { runOperation } from '../../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import { originOf } from '#ui/requests.ts'
import type { Deed, OwnPage, Visit } from '../own-page.ts'
import { pages, tabs } from '../pages.ts'

/** Asks what an operator can ask, in the name of the page's visitor. */
type Ask = ReturnType<typeof askerOf>

/** Makes the function that runs operations of the command line, over all services. */
export function askerOf(services: Services) {
  return async <Name extends keyof Operations>(
    { ctx, user }: Visit,
    name: Name,
    params: Parameters<Operations[Name]['run']>[0],
  ) => {
    const by = { user: user.id, ...originOf(ctx) }
    const asking = { actor: user.id, signal: new AbortController().signal, user: by }
    const answer = await runOperation(operations[name], params, services, asking)
    return answer as Awaited<ReturnType<Operations[Name]['run']>>
  }
}

/** The most rows of a table; a filter finds the others. */
const mostRows = 100

/** Makes a page of the administration, with links to the others. */
export function administrationPage(page: OwnPage): OwnPage {
  return { ...page, show: async (visit) => ({ ...(await page.show(visit)), tabs, sourceOf, placeOf }) }
}

/** Returns the rows that are shown, and the number of those left out. */
export function firstRows<Row>(rows: readonly Row[]): {
  readonly rows: readonly Row[]
  readonly left: number
} {
  return { rows: rows.slice(0, mostRows), left: Math.max(0, rows.length - mostRows) }
}

/** The forms that end access, by operations of the command line, which audit it. */
export function endings(ask: Ask): Record<string, Deed> {
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

/** Makes a form that ends what it names, after a recent sign-in, and shows the page again. */
export function ending(end: (visit: Visit, id: string) => Promise<unknown>): Deed {
  return {
    recent: true,
    run: async (visit, form) => {
      await end(visit, form.get('id') ?? '')
      return undefined
    },
  }
}

/** Turns `config/users.yaml:12` into a link to that place; empty for a source that is in no file. */
function sourceOf(source: string): string {
  const [, file, line = '1'] = /^(config\/[^:]+\.ya?ml)(?::(\d+))?/.exec(source) ?? []
  return file === undefined ? '' : `${pages.adminFiles.path}?file=${encodeURIComponent(file)}#L${line}`
}

/** Splits a fault of the site into its place and its message. */
function placeOf(fault: string): { readonly place: string; readonly message: string } {
  const [, place = '', message = fault] = /^(\S+:\d+:\d+) (.*)$/s.exec(fault) ?? []
  return { place, message }
}
