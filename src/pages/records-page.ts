/** The page of the documents of one kind: asked for by words, filters and order, kept as views, and changed several at once. */
import type { Needs } from '../control/operation.ts'
import { AppError } from '#leaf/errors.ts'
import { listDoctypes } from '../documents/describing.ts'
import { pathPart, type Params, queryOf } from '../web/params.ts'
import { bulkDeed, bulkOf, tickedIn } from './bulk-deed.ts'
import type { UserPageDeps } from './desk-endpoint.ts'
import { choicesFor } from './document-inputs.ts'
import { looked, problemsIn, told } from './documents-endpoint.ts'
import type { OwnPage, Visit } from './own-page.ts'
import type { Reader } from './reader.ts'
import { type Askable, askableOf, problemAtEnd, questionIn, type RecordQuestion } from './record-question.ts'
import { recordsOf } from './records.ts'
import { questionWith, viewDeeds, viewsOf } from './saved-views.ts'
import { principalAt, searchOf } from './session-middleware.ts'
import { shownForm } from './typed-form.ts'
import { usableTool } from './use-tool.ts'
import { documentsFor } from './viewing.ts'
import { readerOf } from './views.ts'

/** Makes the page; a filter that cannot be read is told at its input. */
export function recordsPage(deps: UserPageDeps & Needs<'accounts'>): OwnPage {
  return {
    script: true,
    show: (visit) => show(visit, deps),
    deeds: { ...viewDeeds(deps), bulk: bulkDeed(deps) },
  }
}

async function show(visit: Visit, deps: UserPageDeps): Promise<Record<string, unknown>> {
  const { ctx } = visit
  const user = principalAt(visit, deps)
  const doctype = pathPart(ctx, 'doctype')
  const reader = readerOf(ctx)
  const documents = documentsFor(user, deps)
  const askable = await told(deps, user, doctype, () => askableOf(documents, user, doctype, reader))
  const views = viewsOf(visit.account, doctype)
  const querystring = questionWith(searchOf(ctx), views)
  const { form, ...question } = questionIn(querystring, askable, reader)
  const mayMake = listDoctypes(documents, user).some(
    (one) => one.doctype === doctype && one.allowed.includes('create'),
  )
  const shown = (problems?: readonly string[]) => ({
    doctype,
    ...formOf(querystring, { askable, form, question, reader, problems }),
    views: views.map((view) => ({ ...view, isThis: view.query === queryOf({ querystring }) })),
    bulks: bulkOf(deps, documents, user, doctype, reader),
    ticked: tickedIn(visit.form).map(({ name }) => name),
    mayMake: mayMake && usableTool(deps, user, 'create_document') !== undefined,
  })
  try {
    const view = { target: doctype, data: { question: seen(question) } }
    const page = await looked(deps, user, view, async (own, principal) => ({
      ...(await recordsOf(own, principal, doctype, { question, askable, reader })),
      choices: await choicesFor(own, principal, askable.inputs),
    }))
    return { ...shown(), ...page, next: page.next ? queryOf({ querystring }, page.next) : '' }
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error
    const none = { columns: [], rows: [], total: 0, moreThanTotal: false, next: '', choices: [] }
    return { ...shown(problemsIn(error).map((problem) => problemAtEnd(problem, askable, form))), ...none }
  }
}

function formOf(
  querystring: string,
  {
    askable,
    form,
    question,
    reader,
    problems,
  }: {
    readonly askable: Askable
    readonly form: Params
    readonly question: RecordQuestion
    readonly reader: Reader
    readonly problems: readonly string[] | undefined
  },
) {
  return {
    ...shownForm(askable.inputs, { form, problems, reader }),
    filtered: question.filters.length,
    isFaulty: problems !== undefined,
    words: question.words,
    given: question.given.map(([field, operator, value]) => {
      const label = askable.fields.find(({ name }) => name === field)?.label ?? field
      return `${label} ${operator} ${typeof value === 'string' ? value : JSON.stringify(value)}`
    }),
    filters: question.given.length > 0 ? JSON.stringify(question.given) : '',
    order: question.order,
    fields: askable.fields.map(({ name, label }) => ({ name, label })),
    chosen: question.columns,
    query: queryOf({ querystring }),
    orderedBy: (name: string) =>
      queryOf({ querystring }, { order: question.order === name ? `${name} desc` : name }),
    isFirst: question.after === undefined && question.offset === 0,
  }
}

/** Returns the part of a question that the log tells. */
function seen({ words, filters, order }: RecordQuestion): Readonly<Record<string, unknown>> {
  return { ...(words !== '' && { words }), filters: filters.map(([...filter]) => filter), order }
}
