/** Views of lists that people keep: columns, filters and order under a name; the one without a name is how a list begins. */
import type { Needs } from '../../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import type { Account, SavedView } from '../../users/accounts.ts'
import { pathPart } from '#ui/requests.ts'
import type { Deed } from '../own-page.ts'
import { searchOf } from '../session-middleware.ts'

/** The most views of a person, and the longest question of one. */
const mostViews = 100
const longestQuery = 4000

/** Returns the views of a list that a person keeps, by name. */
export function viewsOf({ views = [] }: Account, list: string): readonly SavedView[] {
  return views.filter((view) => view.doctype === list)
}

/** Returns the question of a list: as it is asked, with the columns that the person keeps; as they keep it if nothing is asked. */
export function questionWith(search: string, views: readonly SavedView[]): string {
  const asked = kept(search)
  const usual = new URLSearchParams(views.find(({ name }) => name === '')?.query)
  if (new URLSearchParams(search).size === 0) return usual.toString()
  const columns = [...usual].filter(([name]) => isColumn(name))
  const isChosen = [...asked.keys()].some(isColumn)
  return new URLSearchParams([...new URLSearchParams(search), ...(isChosen ? [] : columns)]).toString()
}

const isColumn = (name: string): boolean => name.startsWith('c.')

/** Returns the part of a question that is kept: neither the page nor what is empty. */
function kept(search: string): URLSearchParams {
  const isKept = ([name, value]: [string, string]): boolean =>
    value !== '' && /^([fc]\.[\w.]{1,200}|words|order|filters)$/.test(name)
  return new URLSearchParams([...new URLSearchParams(search)].filter(isKept))
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
        const query = kept(searchOf(ctx)).toString()
        if (query.length > longestQuery) throw new AppError('invalid', 'this view is too long to be kept')
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
