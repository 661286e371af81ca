/** Views of lists that people keep: columns, filters and order under a name; the one without a name is how a list begins. */
import type { Needs } from '../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import type { Account, SavedView } from '../users/accounts.ts'
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
  const type = 'account.preferences'
  return {
    keep: {
      type,
      run: async ({ ctx, user }, form) => {
        const [doctype, name] = [
          path ?? pathPart(ctx, 'doctype'),
          (form.get('name') ?? '').trim().slice(0, 140),
        ]
        const query = keptQuery(searchOf(ctx))
        await accounts.change(user.id, (account) => {
          const views = withoutView(account, doctype, name)
          if (views.length >= mostViews)
            throw new AppError('invalid', `you keep ${mostViews} views already, which is the most`)
          return { ...account, views: [...views, { doctype, name, query }] }
        })
        return { target: doctype, data: { view: name } }
      },
    },
    forget: {
      type,
      run: async ({ ctx, user }, form) => {
        const [doctype, name] = [path ?? pathPart(ctx, 'doctype'), form.get('name') ?? '']
        await accounts.change(user.id, (account) => ({
          ...account,
          views: withoutView(account, doctype, name),
        }))
        return { target: doctype, data: { view: name } }
      },
    },
  }
}

function withoutView({ views = [] }: Account, doctype: string, name: string): readonly SavedView[] {
  return views.filter((view) => view.doctype !== doctype || view.name !== name)
}
