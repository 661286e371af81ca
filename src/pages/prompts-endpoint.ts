/** The library of prompts for people: found by category and words, tried, tested, edited. */
import type { Middleware } from 'koa'
import { answerPage } from '../oauth/browser-middleware.ts'
import { forUsers, type UserPageDeps } from './desk-endpoint.ts'
import type { PromptDesk, PromptQuestion } from './prompt-desk.ts'

/** What the pages of prompts work with. */
export interface PromptsDeps extends UserPageDeps {
  readonly prompts: PromptDesk
}

const rowsOfPage = 50
const statuses = ['Published', 'Draft', 'Deprecated', 'Archived'] as const

/** GET: the prompts that the user may have, by category and words. */
export function promptsEndpoint(deps: PromptsDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const asked = new URLSearchParams(ctx.querystring)
    const word = (name: string): string => (asked.get(name) ?? '').slice(0, 1000)
    const question = {
      query: word('query'),
      category: word('category'),
      status: statuses.find((status) => status === asked.get('status')) ?? statuses[0],
    }
    const { prompts, categories } = await deps.prompts.find(principal, question)
    const pages = Math.max(1, Math.ceil(prompts.length / rowsOfPage))
    const page = Math.min(pages, Math.max(1, Math.floor(Number(asked.get('page')) || 1)))
    const view = {
      question,
      statuses,
      categories,
      total: prompts.length,
      prompts: prompts.slice((page - 1) * rowsOfPage, page * rowsOfPage),
      before: page > 1 ? queryOf(question, page - 1) : '',
      next: page < pages ? queryOf(question, page + 1) : '',
    }
    answerPage(ctx, 200, deps.render(ctx, 'prompts', view))
  })
}

function queryOf(question: PromptQuestion, page: number): string {
  return new URLSearchParams({ ...question, page: String(page) }).toString()
}
