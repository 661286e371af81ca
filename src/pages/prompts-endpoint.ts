/** The library of prompts for people, who find them by category and words, try, test and edit them. */
import { createPromptDesk, type PromptDeskParts, type PromptQuestion } from './prompt-desk.ts'
import type { Showing } from './route-page.ts'

const statuses = ['Published', 'Draft', 'Deprecated', 'Archived'] as const

/** Answers GET with the prompts that the user may have, by category and words. */
export function promptsEndpoint(parts: PromptDeskParts): Showing<'users'> {
  const desk = createPromptDesk(parts)
  return async (ctx, principal) => {
    const asked = new URLSearchParams(ctx.querystring)
    const word = (name: string): string => (asked.get(name) ?? '').slice(0, 1000)
    const question = {
      query: word('query'),
      category: word('category'),
      status: statuses.find((status) => status === asked.get('status')) ?? '',
      page: Math.max(1, Math.floor(Number(asked.get('page')) || 1)),
    }
    const { page, pages, ...found } = await desk.find(principal, question)
    return {
      question,
      statuses,
      ...found,
      before: page > 1 ? queryOf(question, page - 1) : '',
      next: page < pages ? queryOf(question, page + 1) : '',
    }
  }
}

function queryOf(question: PromptQuestion, page: number): string {
  return new URLSearchParams({ ...question, page: String(page) }).toString()
}
