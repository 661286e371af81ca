/** A tool as an administrator tries it: a form made of its schema, and what a model would get. */
import { AppError } from '#leaf/errors.ts'
import { randomId } from '#leaf/secrets.ts'
import type { OfferedTool, ToolOutcome } from '../../tools/gate/catalogue.ts'
import { type Params, pathPart } from '#ui/requests.ts'
import { administrationPage } from './administration.ts'
import { type OwnPage, type OwnPageDeps, problemsOf, type Visit } from '../own-page.ts'
import { numberText, type Reader, type TypedField, fieldsOf, givenIn, shownForm } from '#ui/forms.ts'
import { principalAt } from '../session-middleware.ts'
import { outcomeOfTool, type ToolUseDeps } from '../documents/use-tool.ts'
import { readerOf } from '../views.ts'

/** The dependencies of the page. */
export type AdminToolDeps = OwnPageDeps & ToolUseDeps

/** The most characters of an answer that the page shows. */
const mostShown = 30_000
/** The bytes of English and JSON that make about one token of a model. */
const bytesOfToken = 4

/** Makes the page of one tool, which calls it as its visitor, with what a model of theirs would be offered. */
export function adminToolPage(deps: AdminToolDeps): OwnPage {
  return administrationPage({
    largest: 1_000_000,
    show: (visit) => {
      const offered = toolFor(visit, deps)
      const { tool, annotations, confirm } = offered
      const typed = { form: visit.form, reader: readerOf(visit.ctx), problems: problemsOf(visit) }
      return Promise.resolve({
        tool: { name: tool.name, title: tool.title, description: tool.description },
        changes: !annotations.readOnlyHint,
        confirms: confirm !== 'never',
        key: randomId(),
        ...shownForm(fieldsOf(tool.input), typed),
        example: tool.example === undefined ? '' : JSON.stringify(tool.example, null, 2),
      })
    },
    deeds: {
      run: {
        recent: 'keep',
        run: async (visit, form) => {
          const { tool, annotations } = toolFor(visit, deps)
          const confirmed = form.get('confirmed') !== undefined
          if (!annotations.readOnlyHint && !confirmed)
            throw new AppError('invalid', 'it does more than read: say that you want it')
          const args = argumentsOf(form, fieldsOf(tool.input), readerOf(visit.ctx))
          const use = { asModel: true, confirmed, key: form.get('key') } as const
          const outcome = await outcomeOfTool(deps, principalAt(visit, deps), tool.name, args, use)
          if (outcome.fault?.problems.length)
            throw new AppError(outcome.fault.code, outcome.text, {
              data: { problems: outcome.fault.problems },
            })
          return {
            once: { answer: answerOf(outcome, readerOf(visit.ctx)), args: JSON.stringify(args, null, 2) },
          }
        },
      },
    },
  })
}

function toolFor(visit: Visit, deps: AdminToolDeps): OfferedTool {
  const found = deps.site.current().catalogue.find(principalAt(visit, deps), pathPart(visit.ctx, 'name'))
  if (typeof found === 'string') throw new AppError('not_found', 'nothing is at this address')
  return found
}

/** Reads the arguments; what was left blank is not given. */
function argumentsOf(
  form: Params,
  fields: readonly TypedField[],
  reader: Reader,
): Readonly<Record<string, unknown>> {
  const given = givenIn(form, fields, { reader })
  const args = fields.flatMap(({ name, kind }): [string, unknown][] => {
    const value = given[name]
    const chosen = kind === 'several' ? (value as readonly string[]).length : form.get(`f.${name}`)
    if (!chosen) return []
    if (kind === 'yesno') return [[name, value === 'true']]
    if (kind === 'number') return [[name, Number.isNaN(Number(value)) ? value : Number(value)]]
    return [[name, value]]
  })
  return Object.fromEntries(args)
}

function answerOf({ text, content, isError, refused }: ToolOutcome, reader: Reader) {
  const bytes = Buffer.byteLength(text)
  return {
    text: text.length > mostShown ? `${text.slice(0, mostShown)}…` : text,
    isError,
    refused: refused ?? '',
    bytes: numberText(bytes, reader),
    tokens: numberText(Math.ceil(bytes / bytesOfToken), reader),
    more: content.map(({ type }) => type),
  }
}
