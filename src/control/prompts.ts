import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { systemPrincipal } from '../documents/seeds.ts'
import { promptRows } from '../library/prompt-rows.ts'
import type { Services } from '../build/services.ts'
import { defineOperation } from './operation.ts'

const user = { type: 'string' } as const
const prompt = { type: 'string', minLength: 1 } as const

/** Every prompt with its uses; with `user`, only those that this user is listed. */
export const listPrompts = defineOperation({
  name: 'prompts.list',
  input: { type: 'object', additionalProperties: false, properties: { user } },
  run: async (params, { services }) => {
    const { library } = services.site.current()
    const all =
      params.user === undefined
        ? [...library.site.templates.values()]
        : library.prompts(principalOf(services, params.user))
    return promptRows(all, await services.libraries.usage.all('prompt'))
  },
})

/** One prompt whole. */
export const showPrompt = defineOperation({
  name: 'prompts.show',
  input: { type: 'object', additionalProperties: false, required: ['prompt'], properties: { prompt } },
  run: async (params, { services }) => {
    // Of all, not of those that somebody may see: the operator has the files anyway.
    const template = services.site.current().library.site.templates.get(params.prompt)
    if (!template) throw new AppError('not_found', `there is no prompt "${params.prompt}"`)
    const [row] = promptRows([template], await services.libraries.usage.all('prompt'))
    return { ...row, file: template.file, arguments: template.arguments, template_content: template.content }
  },
})

/** Renders a prompt as a user would get it, without counting the use. */
export const previewPrompt = defineOperation({
  name: 'prompts.preview',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['prompt', 'arguments'],
    properties: { prompt, arguments: { type: 'object' }, user },
  },
  run: async (params, { services }) => ({
    text: await services.preview(principalOf(services, params.user), params.prompt, params.arguments),
  }),
})

/** The methods of specification §4.7, as the operator or as a user. */
export const callPromptMethod = defineOperation({
  name: 'prompts.method',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['method', 'body'],
    properties: { method: { type: 'string' }, body: { type: 'object' }, user },
  },
  run: async (params, { services }) => {
    const method = services.promptMethods.get(params.method)
    if (!method) throw new AppError('not_found', `there is no method "${params.method}"`)
    return method.call(principalOf(services, params.user), params.body)
  },
})

/** Whom an operation acts as: the user given, or the operator with every right. */
function principalOf(services: Services, email: string | undefined): Principal {
  if (email === undefined) return systemPrincipal('command line')
  const found = services.site.current().people.find(email)
  if (!found) throw new AppError('not_found', `no user ${email}`)
  return {
    user: found.id,
    fullName: found.fullName,
    roles: found.roles,
    roleKey: [...found.roles].sort().join('\n'),
    scopes: [],
    requestId: 'command line',
  }
}
