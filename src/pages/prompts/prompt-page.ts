/** The pages of one prompt: trying it, its tests, publishing it, and its history with what can be restored. */
import { mostCompared } from '../../library/versions/history.ts'
import { asked, type Params, pathPart } from '#ui/requests.ts'
import type { Messages } from '#ui/pages.ts'
import { type Deed, type OwnPage, problemsOf, type Visit } from '../own-page.ts'
import { pages } from '../pages.ts'
import {
  type AskedArgument,
  changePrompt,
  createPromptDesk,
  type GivenArguments,
  type PromptChange,
  type PromptDeskParts,
} from './prompt-desk.ts'
import { offerDeeds } from './prompt-offers.ts'
import { principalAt, type SessionDeps } from '../session-middleware.ts'
import { givenIn, type ShownInput, shownForm } from '#ui/forms.ts'
import { readerOf } from '../views.ts'

/** The dependencies of the pages of one prompt. */
export type PromptPageDeps = SessionDeps & PromptDeskParts

/** Makes the page of one prompt. */
export function promptPage(deps: PromptPageDeps): OwnPage {
  const desk = createPromptDesk(deps)
  return {
    script: true,
    show: async (visit) => {
      const prompt = await desk.one(principalAt(visit, deps), idOf(visit))
      const saved = visit.form === undefined && 'saved' in visit.ctx.query
      // Only what comes with the program is in the catalogue of words.
      const told = prompt.is_system
        ? prompt.arguments.map((one) => worded(one, readerOf(visit.ctx).messages))
        : prompt.arguments
      return { prompt, saved, failsTests: failsTests(visit), asked: argumentInputs(told, visit) }
    },
    deeds: {
      preview: {
        run: async (visit, form) => {
          const principal = principalAt(visit, deps)
          const prompt = await desk.one(principal, idOf(visit))
          const given = argumentsIn(visit, form, prompt.arguments)
          return { once: { preview: await desk.preview(principal, idOf(visit), given) } }
        },
      },
      tests: {
        run: async (visit) => ({
          once: { tests: await desk.tests(principalAt(visit, deps), idOf(visit)) },
        }),
      },
      ...offerDeeds(deps, idOf),
      duplicate: changing(deps, (id) => (writer, by, line) => writer.duplicate(by, id, line)),
      version: changing(
        deps,
        (id, form) => (writer, by, line) => writer.createVersion(by, id, noteIn(form), line),
      ),
      status: changing(
        deps,
        (id, form) => (writer, by, line) => writer.setStatus(by, id, form.get('status') ?? '', line),
      ),
    },
  }
}

function worded(one: AskedArgument, said: Messages): AskedArgument {
  return { ...one, label: said.problem(one.label), description: said.problem(one.description ?? '') }
}

/** Makes the page of its history. */
export function promptHistoryPage(deps: PromptPageDeps): OwnPage {
  const desk = createPromptDesk(deps)
  return {
    show: async (visit) => {
      const principal = principalAt(visit, deps)
      const prompt = await desk.one(principal, idOf(visit))
      const changes = await desk.history(principal, idOf(visit))
      const newest = Math.max(0, ...changes.map(({ version }) => version ?? 0))
      const [from, to] = ['from', 'to'].map((name) => Number(asked(visit.ctx, name)))
      return {
        prompt,
        changes,
        versions: Array.from({ length: Math.min(newest, mostCompared) }, (_, index) => newest - index),
        apart: from && to ? await desk.apart(principal, idOf(visit), from, to) : undefined,
      }
    },
    deeds: {
      restore: changing(
        deps,
        (id, form) => (writer, by, line) => writer.restore(by, id, Number(form.get('id')), line),
      ),
    },
  }
}

/** Makes a form that changes a prompt and leads to the result, or shows the file where nothing may be written. */
function changing(deps: PromptPageDeps, changeOf: (id: string, form: Params) => PromptChange): Deed {
  return {
    run: (visit, form) => changed(visit, deps, changeOf(idOf(visit), form)),
  }
}

/** Makes a change and leads to the result; where nothing may be written, shows what the file would hold. */
export async function changed(
  visit: Visit,
  deps: PromptPageDeps,
  change: PromptChange,
  line?: string,
): ReturnType<Deed['run']> {
  const { prompt_id, ...file } = await changePrompt(deps, principalAt(visit, deps), change, line)
  if (file.text !== undefined) return { once: { file } }
  return { to: `${pages.prompts.path}/${encodeURIComponent(prompt_id)}?saved` }
}

/** True when the prompt's own tests made the form fail. */
export function failsTests({ detail }: Visit): boolean {
  return detail?.tests !== undefined
}

/** Returns the id of the prompt that the address names; empty for a new one. */
export function idOf({ ctx }: Visit): string {
  return pathPart(ctx, 'id')
}

/** Returns the person's note on a change, as one line. */
export function noteIn(form: Params): string {
  return (form.get('note') ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 200)
}

/** Reads the values that a form holds for the arguments of a prompt; those left blank are not given. */
export function argumentsIn({ ctx }: Visit, form: Params, asked: readonly AskedArgument[]): GivenArguments {
  const given = givenIn(form, asked, { reader: readerOf(ctx) })
  return Object.fromEntries(
    Object.entries(given).filter(
      (entry): entry is [string, string | string[]] =>
        typeof entry[1] === 'string' || (Array.isArray(entry[1]) && entry[1].length > 0),
    ),
  )
}

/** Returns the arguments as a form asks for them: with the last values, and the problems of those. */
export function argumentInputs(asked: readonly AskedArgument[], visit: Visit): readonly ShownInput[] {
  const { ctx, form } = visit
  const values = Object.fromEntries(asked.map(({ name, usual }) => [name, usual]))
  return shownForm(asked, { form, values, reader: readerOf(ctx), problems: problemsOf(visit) }).inputs
}
