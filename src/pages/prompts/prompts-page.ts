/** The list of the prompts that somebody may have, found by words, category, status and who saved them, and the same as a file. */
import type { Context } from 'koa'
import type { Needs } from '../../control/operation.ts'
import type { Principal } from '../../core/principal.ts'
import { findPrompts } from '../../library/prompt-methods.ts'
import { categoryTree, type CategoryNode } from '../../library/category-tree.ts'
import { promptRows } from '../../library/prompts/prompt-rows.ts'
import { promptStatuses, visibilities } from '../../library/words.ts'
import { asked } from '#ui/requests.ts'
import { type Held, heldList, type HeldRow } from '../held-rows.ts'
import { pageOfRows, seen, sheetOf, shownList, questionIn, answerSheet, sheetFormat } from '#ui/lists.ts'
import type { OwnPage } from '../own-page.ts'
import { pages } from '../pages.ts'
import { waitingOffers } from './prompt-offers.ts'
import { choiceOf, type Reader } from '#ui/forms.ts'
import type { Showing } from '../route-page.ts'
import { viewDeeds, listAsker } from '../saved-views.ts'
import { principalAt, type SessionDeps } from '../session-middleware.ts'
import { viewed } from '../documents/viewing.ts'
import { readerOf } from '../views.ts'

type PromptsDeps = Needs<'site' | 'librarian' | 'audit' | 'clock' | 'people' | 'refusalOf'>

const { path } = pages.prompts
const file = pages.exportPrompts.path

/** Makes the page. */
export function promptsPage(deps: PromptsDeps & SessionDeps & Needs<'accounts'>): OwnPage {
  return {
    script: true,
    show: async (visit) => {
      const user = principalAt(visit, deps)
      const { source, ...asked } = promptsFor(deps, user, readerOf(visit.ctx))
      const list = { ...asked, ordersFound: true, file } as const
      return {
        waiting: await waitingOffers(user, deps),
        ...(await shownList(listAsker(visit, path), list, (question) =>
          looked(deps, user, { question: seen(question) }, () => pageOfRows(source, question)),
        )),
      }
    },
    deeds: viewDeeds(deps, path),
  }
}

/** Answers GET with the prompts that were asked for, as a file. */
export function exportPromptsEndpoint(deps: PromptsDeps): Showing<'users'> {
  return async (ctx: Context, user) => {
    const format = sheetFormat(asked(ctx, 'format') || 'csv')
    const reader = readerOf(ctx)
    const { askable, source } = promptsFor(deps, user, reader)
    const question = questionIn(ctx.querystring, askable, reader)
    const sheet = await looked(deps, user, { format, question: seen(question) }, () =>
      sheetOf('prompts', source, question),
    )
    await answerSheet(ctx, format, sheet, reader)
  }
}

function looked<Seen>(
  { audit }: PromptsDeps,
  user: Principal,
  data: Readonly<Record<string, unknown>>,
  look: () => Promise<Seen>,
): Promise<Seen> {
  return viewed(audit, user, { type: 'prompt.view', data }, look)
}

function promptsFor(deps: PromptsDeps, principal: Principal, reader: Reader) {
  const by = { user: principal.user, reader, now: deps.clock.now() }
  return heldList(heldPrompts(deps, principal, reader.messages.text), by)
}

function heldPrompts(
  { site, librarian, people }: PromptsDeps,
  principal: Principal,
  said: (name: string) => string,
): Held {
  const library = site.current().library.for(principal)
  const all = library.gettable(principal)
  const several = (values: Iterable<string>): string[] => [...new Set(values)].filter(Boolean).sort()
  const [owners, tags] = [several(all.map(({ owner }) => owner)), several(all.flatMap((one) => one.tags))]
  const { categories } = library.reading
  const words = (options: readonly string[]) =>
    choiceOf(options.map((option) => [option, said(`prompts.${option}`)]))
  const category = choiceOf(listed(categoryTree(library, principal), ''))
  const owner = choiceOf(owners.map((one) => [one, people().find(one)?.fullName || one]))
  return {
    fields: [
      { name: 'title', type: 'text', label: said('documents.name') },
      { name: 'name', type: 'text', label: said('prompts.id') },
      { name: 'description', type: 'text', label: said('prompts.about') },
      { name: 'category', type: 'select', label: said('prompts.category'), ...category },
      { name: 'status', type: 'select', label: said('prompts.status'), ...words(promptStatuses) },
      { name: 'visibility', type: 'select', label: said('prompts.for'), ...words(visibilities) },
      { name: 'owner', type: 'select', label: said('prompts.owner'), ...owner },
      { name: 'tags', type: 'select', label: said('prompts.tags'), options: tags },
      { name: 'use_count', type: 'integer', label: said('prompts.used') },
      { name: 'last_used', type: 'datetime', label: said('apps.last_used') },
      { name: 'is_system', type: 'check', label: said('prompts.built_in') },
    ],
    usual: ['description', 'category', 'status', 'owner', 'use_count'],
    several: new Set(['category', 'tags']),
    order: [
      { field: 'use_count', descending: true },
      { field: 'last_used', descending: true },
      { field: 'title' },
    ],
    rows: async (query) => {
      const { found, uses } = await findPrompts(library, librarian.usage, principal, { query }, () => true)
      const above = (id: string | undefined): string[] =>
        id === undefined ? [] : [id, ...above(categories.get(id)?.parent)]
      return promptRows(principal, found, uses).map((row): HeldRow => {
        const within = above(row.category ?? undefined).map((one) => ({ category: one }))
        return {
          ...row,
          id: row.name,
          is_system: row.is_system === 1,
          tags: row.tags.join(', '),
          several: [...within, ...row.tags.map((one) => ({ tags: one }))],
        }
      })
    },
  }
}

/** Returns the categories one below the other, each with the names of those that it lies in. */
function listed(nodes: readonly CategoryNode[], above: string): [string, string][] {
  return nodes.flatMap(({ category_id, category_name, children }): [string, string][] => [
    [category_id, above + category_name],
    ...listed(children, `${above}${category_name} / `),
  ])
}
