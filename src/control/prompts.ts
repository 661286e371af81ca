import { AppError } from '../core/errors.ts'
import { principalFor, type Principal } from '../core/principal.ts'
import { systemPrincipal } from '../documents/seeds.ts'
import type { PromptMethod, PromptMethods } from '../library/prompt-methods.ts'
import { promptRows } from '../library/prompt-rows.ts'
import type { People } from '../users/people.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

const user = { type: 'string' } as const
const prompt = { type: 'string', minLength: 1 } as const

/** Every prompt with its uses; with `user`, only those that this user is listed. */
export const listPromptTemplates = defineOperation({
  name: 'prompts.list',
  input: objectWith({}, { user }),
  run: async (params, { site, people, librarian }: Needs<'site' | 'people' | 'librarian'>) => {
    const { library } = site.current()
    const user = params.user === undefined ? undefined : principalOf(people(), params.user)
    const all = user ? library.for(user).prompts(user) : [...library.site.templates.values()]
    return promptRows(all, await librarian.usage.all('prompt'))
  },
})

/** One prompt whole. */
export const showPrompt = defineOperation({
  name: 'prompts.show',
  input: objectWith({ prompt }),
  run: async (params, { site, librarian }: Needs<'site' | 'librarian'>) => {
    // Of all, not of those that somebody may see: the operator has the files anyway.
    const template = site.current().library.site.templates.get(params.prompt)
    if (!template) throw new AppError('not_found', `there is no prompt "${params.prompt}"`)
    const [row] = promptRows([template], await librarian.usage.all('prompt'))
    return { ...row, file: template.file, arguments: template.arguments, template_content: template.content }
  },
})

/** Renders a prompt as a user would get it, without counting the use. */
export const previewPrompt = defineOperation({
  name: 'prompts.preview',
  input: objectWith({ prompt, arguments: { type: 'object' } }, { user }),
  run: async (params, { site, people }: Needs<'site' | 'people'>) => {
    const principal = principalOf(people(), params.user)
    const library = site.current().library.for(principal)
    return { text: await library.preview(principal, params.prompt, params.arguments) }
  },
})

/** One of the methods of specification §4.7, as the operator or as a user; the method itself checks the body. */
function methodOperation<const Name extends string, Answer>(
  name: Name,
  methodOf: (methods: PromptMethods) => PromptMethod<Answer>,
) {
  return defineOperation({
    name,
    input: objectWith({ body: { type: 'object' } }, { user }),
    run: (params, { promptMethods, people }: Needs<'promptMethods' | 'people'>) =>
      methodOf(promptMethods).call(principalOf(people(), params.user), params.body),
  })
}

/** The prompt methods that operators ask. */
export const promptMethodOperations = [
  methodOperation('prompts.search', (methods) => methods.search_prompts),
  methodOperation('prompts.usage', (methods) => methods.get_popular_prompts),
  methodOperation('prompts.history', (methods) => methods.get_version_history),
  methodOperation('prompts.restore', (methods) => methods.restore_version),
  methodOperation('prompts.version', (methods) => methods.create_version),
  methodOperation('prompts.duplicate', (methods) => methods.duplicate_as_private),
] as const

/** Whom an operation acts as: the user given, or the operator with every right. */
function principalOf(people: People, email: string | undefined): Principal {
  if (email === undefined) return systemPrincipal('command line')
  const found = people.find(email)
  if (!found) throw new AppError('not_found', `no user ${email}`)
  return principalFor(found, 'command line')
}
