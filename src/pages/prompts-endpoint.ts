/** The library of prompts for people: found by category and words, tried, tested, edited. */
import type { Middleware } from 'koa'
import type { Principal } from '../core/principal.ts'
import { answerPage } from '../oauth/browser-middleware.ts'
import { forUsers, type UserPageDeps } from './desk-endpoint.ts'

/** Which prompts somebody looks for. */
export interface PromptQuestion {
  readonly query: string
  readonly category: string
  readonly status: string
}

/** A category with those below it. */
export interface ShownCategory {
  readonly category_id: string
  readonly category_name: string
  readonly prompt_count: number
  readonly children: readonly ShownCategory[]
}

/** A prompt in a list. */
export interface ListedPrompt {
  readonly prompt_id: string
  readonly title: string
  readonly description: string
  readonly category: string | null
  readonly visibility: string
  readonly is_system: 0 | 1
  readonly use_count: number
}

/** One argument of a prompt as a form asks for it. */
export interface AskedArgument {
  readonly name: string
  readonly label: string
  readonly type: string
  readonly required: boolean
  readonly description: string
  readonly usual: string | readonly string[]
  readonly options: readonly string[]
}

/** What was given for arguments: a text each, or several where several may be chosen. */
export type GivenArguments = Readonly<Record<string, string | readonly string[]>>

/** A prompt as its own page shows it. */
export interface ShownPrompt extends ListedPrompt {
  readonly category_name: string
  readonly status: string
  readonly engine: string
  readonly version: number | null
  readonly owner: string
  readonly roles: readonly string[]
  readonly tags: readonly string[]
  readonly file: string
  readonly content: string
  readonly arguments: readonly AskedArgument[]
  readonly tests: number
  readonly mayEdit: boolean
  /** What its status may become. */
  readonly steps: readonly string[]
}

/** How one test went. */
export interface ShownTest {
  readonly test: string
  readonly ok: boolean
  readonly problems: readonly string[]
}

/** A change as the history shows it. */
export interface ShownChange {
  readonly version: number | null
  readonly begins: boolean
  readonly author: string
  readonly time?: number
  readonly subject: string
  readonly diff: string
}

/** Where a change may go: the site itself, or the branch of a channel. */
export interface WritableLine {
  readonly line: string
  /** undefined for the site itself. */
  readonly branch?: string
}

/** A text that somebody works on, and where it is to go. */
export interface Sketch {
  readonly id: string
  /** Whether there is no such prompt yet. */
  readonly isNew: boolean
  readonly line: string
  readonly file: string
  readonly text: string
}

/** A text as somebody begins to work on it. */
export interface BegunSketch extends Sketch {
  /** The digest of the file it was taken from. */
  readonly began: string
  readonly lines: readonly WritableLine[]
}

/** A fault or a remark at its line. */
export interface ShownFault {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly path: string
  readonly message: string
}

/** What checking a sketch found. */
export interface CheckedSketch {
  readonly faults: readonly ShownFault[]
  readonly warnings: readonly ShownFault[]
  readonly tests: readonly ShownTest[]
}

/** What was written, or is to be put into the file by hand. */
export interface ChangedPrompt {
  readonly prompt_id: string
  readonly file: string
  readonly text?: string
}

/** What people change about a prompt. */
export type PromptChange =
  | { readonly kind: 'save'; readonly sketch: Sketch; readonly began: string; readonly note: string }
  | { readonly kind: 'duplicate'; readonly id: string }
  | { readonly kind: 'version'; readonly id: string; readonly note: string }
  | { readonly kind: 'status'; readonly id: string; readonly status: string }
  | { readonly kind: 'restore'; readonly id: string; readonly version: number }

/** Where the pages get what they show; AppError `not_found` for what the principal may not see. */
export interface PromptDesk {
  find(
    principal: Principal,
    question: PromptQuestion,
  ): Promise<{ readonly prompts: readonly ListedPrompt[]; readonly categories: readonly ShownCategory[] }>
  one(principal: Principal, id: string): Promise<ShownPrompt>
  /** AppError `invalid` with `data.problems` of arguments. */
  preview(principal: Principal, id: string, given: GivenArguments): Promise<string>
  tests(principal: Principal, id: string): Promise<readonly ShownTest[]>
  history(principal: Principal, id: string): Promise<readonly ShownChange[]>
  begin(principal: Principal, id: string | undefined, line: string | undefined): Promise<BegunSketch>
  /** What a text asks for; undefined when it cannot be read. */
  asks(sketch: Sketch): readonly AskedArgument[] | undefined
  previewSketch(principal: Principal, sketch: Sketch, given: GivenArguments): Promise<string>
  check(principal: Principal, sketch: Sketch): Promise<CheckedSketch>
  /** How a text differs from another. */
  difference(before: string, after: string): string
  change(principal: Principal, change: PromptChange): Promise<ChangedPrompt>
}

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
