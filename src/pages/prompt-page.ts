/** The pages of one prompt: trying it, its tests, publishing it, and its history with what can be restored. */
import { AppError } from '../core/errors.ts'
import type { Params } from '../oauth/protocol.ts'
import { paths } from '../oauth/urls.ts'
import { principalAt } from './desk-endpoint.ts'
import type { Deed, OwnPage, OwnPageDeps, Visit } from './own-page.ts'
import type { AskedArgument, GivenArguments, PromptChange } from './prompt-desk.ts'
import type { PromptsDeps } from './prompts-endpoint.ts'

/** What the pages of one prompt work with. */
export interface PromptPageDeps extends PromptsDeps, OwnPageDeps {}

/** The page of one prompt. */
export function promptPage(deps: PromptPageDeps): OwnPage {
  return {
    path: `${paths.prompts}/:id`,
    view: 'prompt',
    show: async (visit) => {
      const prompt = await deps.prompts.one(principalAt(visit, deps), idOf(visit))
      const saved = visit.form === undefined && 'saved' in visit.ctx.query
      return { prompt, saved, asked: askedAgain(prompt.arguments, visit) }
    },
    deeds: {
      preview: {
        run: async (visit, form) => {
          const principal = principalAt(visit, deps)
          const asked = await deps.prompts.one(principal, idOf(visit))
          const given = givenIn(form, asked.arguments)
          return { once: { preview: await deps.prompts.preview(principal, idOf(visit), given) } }
        },
      },
      tests: {
        run: async (visit) => ({
          once: { tests: await deps.prompts.tests(principalAt(visit, deps), idOf(visit)) },
        }),
      },
      duplicate: changing(deps, (id) => ({ kind: 'duplicate', id })),
      version: changing(deps, (id, form) => ({ kind: 'version', id, note: noteIn(form) })),
      status: changing(deps, (id, form) => ({ kind: 'status', id, status: form.get('status') ?? '' })),
    },
  }
}

/** The page of its history. */
export function promptHistoryPage(deps: PromptPageDeps): OwnPage {
  return {
    path: `${paths.prompts}/:id/history`,
    view: 'prompt-history',
    show: async (visit) => {
      const principal = principalAt(visit, deps)
      const prompt = await deps.prompts.one(principal, idOf(visit))
      return { prompt, changes: await deps.prompts.history(principal, idOf(visit)) }
    },
    deeds: {
      restore: changing(deps, (id, form) => ({ kind: 'restore', id, version: Number(form.get('id')) })),
    },
  }
}

/** A form that changes a prompt and leads to what it became, or shows the file where nothing may be written. */
function changing(deps: PromptPageDeps, changeOf: (id: string, form: Params) => PromptChange): Deed {
  return {
    run: (visit, form) => changed(visit, deps, changeOf(idOf(visit), form)),
  }
}

/** Makes a change and leads to what it became; where nothing may be written, shows what the file would hold. */
export async function changed(
  visit: Visit,
  deps: PromptPageDeps,
  change: PromptChange,
): ReturnType<Deed['run']> {
  const { prompt_id, ...file } = await deps.prompts.change(principalAt(visit, deps), change)
  if (file.text !== undefined) return { once: { file } }
  return { to: `${paths.prompts}/${encodeURIComponent(prompt_id)}?saved` }
}

/** The prompt that the address names. */
export function idOf({ ctx }: Visit): string {
  const { id } = ctx['params'] as { readonly id?: string }
  if (id === undefined) throw new AppError('not_found', 'nothing is at this address')
  return id
}

/** What a person says of a change, in a line. */
export function noteIn(form: Params): string {
  return (form.get('note') ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 200)
}

/** What a form holds for the arguments that were asked for. */
export function givenIn(form: Params, asked: readonly AskedArgument[]): GivenArguments {
  const given: [string, string | readonly string[]][] = []
  for (const { name, type, options } of asked) {
    const text = form.get(`arg.${name}`)
    if (text !== undefined) given.push([name, text.replaceAll('\r\n', '\n')])
    if (type !== 'multiselect') continue
    const chosen = options.filter((_, index) => form.get(`arg.${name}.${index}`) !== undefined)
    if (chosen.length > 0) given.push([name, chosen])
  }
  return Object.fromEntries(given)
}

/** Arguments as a form asks for them: with what was given last, and what was wrong with it. */
export function askedAgain(
  asked: readonly AskedArgument[],
  { form, detail }: Visit,
): readonly (AskedArgument & { readonly given: unknown; readonly problem: string })[] {
  const given = form ? givenIn(form, asked) : {}
  const { problems = [] } = (detail ?? {}) as {
    readonly problems?: readonly { readonly argument?: string; readonly problem?: string }[]
  }
  return asked.map((argument) => ({
    ...argument,
    given: Object.hasOwn(given, argument.name) ? given[argument.name] : form ? '' : argument.usual,
    problem: problems.find((problem) => problem.argument === argument.name)?.problem ?? '',
  }))
}
