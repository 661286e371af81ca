/** Views of lists that people keep: columns, filters and order under a name; the one without a name is how a list begins. */
import type { Needs } from '../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import type { SavedView } from '../users/accounts.ts'
import { keptQuery, type ListAsker } from '#ui/lists.ts'
import { pathPart } from '#ui/requests.ts'
import type { Deed, Visit } from './own-page.ts'
import { searchOf } from './session-middleware.ts'
import { readerOf } from './views.ts'

/** The most views of a person. */
const mostViews = 100

/** Returns whoever asks for a list by the address of a page: as they read, and with the views that they keep of it. */
export function listAsker({ ctx, account }: Visit, list: string): ListAsker {
  const views = (account.views ?? []).filter((view) => view.doctype === list)
  return { search: searchOf(ctx), reader: readerOf(ctx), views }
}

/** Makes the forms that keep the view that a list shows, and forget one; a list of no doctype is known by its path. */
export function viewDeeds({ accounts }: Needs<'accounts'>, path?: string): Record<'keep' | 'forget', Deed> {
  const changing = (
    viewsFor: (
      others: readonly SavedView[],
      place: Omit<SavedView, 'query'>,
      search: string,
    ) => typeof others,
  ): Deed => ({
    type: 'account.preferences',
    run: async ({ ctx, user }, form) => {
      const doctype = path ?? pathPart(ctx, 'doctype')
      const name = (form.get('name') ?? '').trim().slice(0, 140)
      await accounts.change(user.id, (account) => {
        const others = (account.views ?? []).filter((one) => one.doctype !== doctype || one.name !== name)
        return { ...account, views: viewsFor(others, { doctype, name }, searchOf(ctx)) }
      })
      return { target: doctype, data: { view: name } }
    },
  })
  return {
    keep: changing((others, place, search) => {
      if (others.length >= mostViews)
        throw new AppError('invalid', `you keep ${mostViews} views already, which is the most`)
      return [...others, { ...place, query: keptQuery(search) }]
    }),
    forget: changing((others) => others),
  }
}
