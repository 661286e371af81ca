/**
 * What the official conformance suite expects of a server, registered through the same seams as everything
 * else: tools, prompts and resources of `Extras`. Nothing of it ships.
 */
import type {
  Extras,
  PromptAnswer,
  PromptEntry,
  PromptProvider,
  ResourceProvider,
} from '../../src/mcp/extras.ts'
import { fixtureTools, form, triggerTool } from './fixture-tools.ts'
import { pngPixel } from './media.ts'

/** Everything the suite asks for; each call gives fixtures of their own. */
export function conformanceExtras(): Extras {
  let toolChanges = 0
  let promptChanges = 0
  let changed = (): void => {}
  return {
    tools: [
      ...fixtureTools,
      triggerTool('test_trigger_tool_change', 'Change the list of tools', () => {
        toolChanges++
        changed()
      }),
      triggerTool('test_trigger_prompt_change', 'Change the list of prompts', () => {
        promptChanges++
        changed()
      }),
    ],
    prompts: [prompts(() => String(promptChanges))],
    resources: [resources],
    toolsDigest: () => String(toolChanges),
    attach: (notify) => {
      changed = notify
    },
  }
}

const argument = (name: string, description: string): PromptEntry['arguments'][number] => ({
  name,
  description,
  required: true,
})

const entries: readonly PromptEntry[] = [
  {
    name: 'test_simple_prompt',
    title: 'Simple prompt',
    description: 'A prompt without arguments',
    arguments: [],
  },
  {
    name: 'test_prompt_with_arguments',
    title: 'Prompt with arguments',
    description: 'A prompt with two arguments',
    arguments: [argument('arg1', 'First test argument'), argument('arg2', 'Second test argument')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    title: 'Prompt with a resource',
    description: 'A prompt that carries a resource',
    arguments: [argument('resourceUri', 'URI of the resource to embed')],
  },
  {
    name: 'test_prompt_with_image',
    title: 'Prompt with an image',
    description: 'A prompt that carries an image',
    arguments: [],
  },
  {
    name: 'test_input_required_result_prompt',
    title: 'Prompt that asks',
    description: 'A prompt that asks the person first',
    arguments: [],
  },
]

function prompts(digest: () => string): PromptProvider {
  return {
    list: () => entries,
    get: async (_, name, args, { ask }) => {
      const text = (value: string): PromptAnswer['messages'][number] => ({
        role: 'user',
        content: { type: 'text', text: value },
      })
      const description = entries.find((entry) => entry.name === name)?.description ?? ''
      switch (name) {
        case 'test_simple_prompt':
          return { description, messages: [text('This is a simple prompt for testing.')] }
        case 'test_prompt_with_arguments':
          return {
            description,
            messages: [
              text(`Prompt with arguments: arg1='${String(args['arg1'])}', arg2='${String(args['arg2'])}'`),
            ],
          }
        case 'test_prompt_with_embedded_resource':
          return {
            description,
            messages: [
              {
                role: 'user',
                content: {
                  type: 'resource',
                  resource: {
                    uri: String(args['resourceUri']),
                    mimeType: 'text/plain',
                    text: 'Embedded resource content for testing.',
                  },
                },
              },
              text('Please process the embedded resource above.'),
            ],
          }
        case 'test_prompt_with_image':
          return {
            description,
            messages: [
              { role: 'user', content: { type: 'image', data: pngPixel, mimeType: 'image/png' } },
              text('Please analyze the image above.'),
            ],
          }
        case 'test_input_required_result_prompt': {
          const question = form('What context should the prompt use?', { context: { type: 'string' } }, [
            'context',
          ])
          const { user_context } = await ask({ user_context: question })
          return { description, messages: [text(`Context: ${JSON.stringify(user_context)}`)] }
        }
        default:
          return undefined
      }
    },
    complete: async (_, name, _argument, typed) => {
      if (!entries.some((entry) => entry.name === name)) return undefined
      const values = ['paris', 'park', 'party'].filter((value) => value.startsWith(typed))
      return { values, total: values.length }
    },
    digest,
  }
}

const templateUri = 'test://template/{id}/data'
const fixed = [
  {
    uri: 'test://static-text',
    name: 'Static text',
    description: 'A text that never changes',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  {
    uri: 'test://static-binary',
    name: 'Static picture',
    description: 'A picture that never changes',
    mimeType: 'image/png',
    blob: pngPixel,
  },
  {
    uri: 'test://watched-resource',
    name: 'Watched text',
    description: 'A text to subscribe to',
    mimeType: 'text/plain',
    text: 'This is a watched resource.',
  },
]

const resources: ResourceProvider = {
  list: () => fixed.map(({ uri, name, description, mimeType }) => ({ uri, name, description, mimeType })),
  templates: () => [
    {
      uriTemplate: templateUri,
      name: 'Data by id',
      description: 'A document made for any id',
      mimeType: 'application/json',
    },
  ],
  read: async (_, uri) => {
    const resource = fixed.find((one) => one.uri === uri)
    if (resource) {
      const { name: _name, description: _description, ...contents } = resource
      return [contents]
    }
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
    if (id === undefined) return undefined
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return [{ uri, mimeType: 'application/json', text }]
  },
  complete: async (_, template) => (template === templateUri ? { values: [], total: 0 } : undefined),
  digest: () => 'fixed',
  version: (_, uri) => (fixed.some((one) => one.uri === uri) ? 'fixed' : undefined),
}
