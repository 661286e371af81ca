import { AppError } from '#leaf/errors.ts'
import { objectWith } from '#leaf/object-schema.ts'
import type { PromptMethod, PromptMethods } from '../library/prompt-methods.ts'
import { promptRows } from '../library/prompts/prompt-rows.ts'
import { promptStatuses } from '../library/words.ts'
import { asks, takes, type CommandDescription, type Input, type ParamsOf } from '#commands/description.ts'
import { defineOperation } from './operation.ts'
import { columns, facts, picturedLines, type TextColumn } from '#commands/terminal.ts'
import { pictured } from '#leaf/pictured.ts'
import { principalOf } from './whose.ts'

const prompt_id = '<id>'
const asUser = '--user <user>: as this user; without it, as the operator'
const count = '-n <count>: how many'

type Row = ReturnType<typeof promptRows>[number]
const rowColumns: readonly TextColumn<Row>[] = [
  ...columns('prompt: prompt_id, title, status, visibility'),
  ['version', ({ version_number: version }: Row) => version ?? 'not committed'],
  'uses: use_count',
]

/** A user without prompts of their own. */
const operator = { user: '' }

/** The operations on the prompt library, for the operator or as a user sees it. */
export const promptOperations = [
  defineOperation({
    name: 'prompts.list',
    does: 'list the prompts of the site and the built-in ones',
    examples: ['prompts list --user sales@example.com'],
    input: takes({ user: '--user <user>: only those that this user is listed' }),
    needs: ['site', 'people', 'librarian'],
    run: async (params, { site, librarian, ...taken }) => {
      const { library } = site.current()
      const user = params.user === undefined ? undefined : principalOf(taken, params.user)
      const all = user ? library.for(user).prompts(user) : [...library.site.templates.values()]
      return promptRows(user ?? operator, all, await librarian.usage.all('prompt'))
    },
    text: rowColumns,
  }),
  defineOperation({
    name: 'prompts.show',
    does: 'show one prompt whole',
    examples: ['prompts show sales_analysis'],
    input: takes({ prompt: prompt_id }),
    needs: ['site', 'librarian'],
    run: async (params, { site, librarian }) => {
      // Searches all prompts, not only those that a user may see: the operator has the files anyway.
      const template = site.current().library.site.find(operator.user, params.prompt)
      if (!template) throw new AppError('not_found', `there is no prompt "${params.prompt}"`)
      const [row] = promptRows(operator, [template], await librarian.usage.all('prompt'))
      return {
        ...row,
        file: template.file,
        arguments: template.arguments,
        template_content: template.content,
      }
    },
    text: ({ template_content, ...rest }) => `${facts(rest)}\n\n${picturedLines(template_content)}`,
  }),
  defineOperation({
    // Its command shows files as well, which need not be part of the site. No use is counted.
    name: 'prompts.preview',
    input: objectWith(
      { prompt: { type: 'string' }, arguments: { type: 'object' } },
      { user: { type: 'string' } },
    ),
    needs: ['site', 'people'],
    run: async (params, taken) => {
      const principal = principalOf(taken, params.user)
      const library = taken.site.current().library.for(principal)
      return { text: await library.preview(principal, params.prompt, params.arguments) }
    },
  }),
  methodOperation((methods) => methods.search_prompts, {
    name: 'prompts.search',
    does: 'find prompts by id, title, description, content and tags',
    examples: ['prompts search quarterly revenue'],
    input: takes({
      query: '<words...>',
      user: '--user <user>: only those that this user may see',
      status: asks('--status <status>: in this status', { enum: promptStatuses }),
    }),
    text: rowColumns,
  }),
  methodOperation((methods) => methods.get_popular_prompts, {
    name: 'prompts.usage',
    does: 'list the prompts that are used most',
    examples: ['prompts usage -n 5'],
    input: takes({ limit: asks(count, { default: 20 }) }),
    text: rowColumns,
  }),
  methodOperation((methods) => methods.get_version_history, {
    name: 'prompts.history',
    does: 'show the versions of a prompt, with author, time and difference',
    examples: ['prompts history visit_report -n 3'],
    input: takes({ prompt_id, limit: asks(count, { default: 10 }) }),
    text: (list) => {
      const told = list.map(({ version, current, time, author, commit, diff }) => {
        const title = version === null ? 'not committed' : `version ${version}`
        const made = time === null ? '' : `${time}  ${pictured(author)}  ${commit?.slice(0, 12) ?? ''}`
        return `${title}${current ? ' (in use)' : ''}  ${made}\n${picturedLines(diff)}`.trimEnd()
      })
      return told.join('\n\n')
    },
  }),
  methodOperation((methods) => methods.restore_version, {
    name: 'prompts.restore',
    does: 'put the content, engine and arguments of an older version back into the file',
    examples: ['prompts restore visit_report 2'],
    input: takes({ prompt_id, version: '<version>', user: asUser }),
  }),
  methodOperation((methods) => methods.create_version, {
    name: 'prompts.version',
    does: 'copy a prompt under its id with the suffix _v2, _v3, …',
    examples: ['prompts version visit_report --notes "for the spring campaign"'],
    input: takes({ prompt_id, notes: '--notes <text>: what this version is', user: asUser }),
  }),
  methodOperation((methods) => methods.duplicate_as_private, {
    name: 'prompts.duplicate',
    does: 'make a private copy of a prompt for a user',
    examples: ['prompts duplicate sales_analysis --user sales@example.com'],
    input: takes({ prompt_id, user: '--user <user>!: whose copy it is' }),
  }),
] as const

/** Makes an operation of a method of specification §4.7, as the operator or a user; the method checks the rest of the input. */
function methodOperation<const Name extends string, const Asked extends Input, Answer>(
  methodOf: (methods: PromptMethods) => PromptMethod<Answer>,
  described: { readonly name: Name; readonly input: Asked } & CommandDescription<ParamsOf<Asked>, Answer>,
) {
  return defineOperation<Name, Asked, Answer, 'promptMethods' | 'people'>({
    ...described,
    needs: ['promptMethods', 'people'],
    run: async (params, { promptMethods, ...taken }) => {
      const { user, limit, ...body } = params as { readonly user?: string; readonly limit?: number }
      const most = limit === undefined ? {} : { limit: Math.max(1, limit) }
      return methodOf(promptMethods).call(principalOf(taken, user), { ...body, ...most })
    },
  })
}
