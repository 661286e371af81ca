/** The tools that the official conformance suite calls, written with the same `defineTool` as real ones. */
import { setTimeout as delay } from 'node:timers/promises'
import { defineTool, type ClientQuestion, type Content, type Tool } from '../../src/tools/tool.ts'
import { pngPixel, wavSilence } from './media.ts'

const nothing = { type: 'object', additionalProperties: false, properties: {} } as const
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))

function content(...blocks: readonly Content[]): unknown {
  return { kind: 'rich', content: blocks }
}

const contentTools: readonly Tool[] = [
  defineTool({
    name: 'test_simple_text',
    title: 'Simple text',
    description: 'Answers with one text.',
    category: 'read_only',
    input: nothing,
    run: async () => 'This is a simple text response for testing.',
  }),
  defineTool({
    name: 'test_image_content',
    title: 'Image',
    description: 'Answers with an image.',
    category: 'read_only',
    input: nothing,
    run: async () => content({ type: 'image', data: pngPixel, mimeType: 'image/png' }),
  }),
  defineTool({
    name: 'test_audio_content',
    title: 'Audio',
    description: 'Answers with a sound.',
    category: 'read_only',
    input: nothing,
    run: async () => content({ type: 'audio', data: wavSilence, mimeType: 'audio/wav' }),
  }),
  defineTool({
    name: 'test_embedded_resource',
    title: 'Embedded resource',
    description: 'Answers with a resource.',
    category: 'read_only',
    input: nothing,
    run: async () =>
      content({
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      }),
  }),
  defineTool({
    name: 'test_multiple_content_types',
    title: 'Several kinds of content',
    description: 'Answers with a text, an image and a resource.',
    category: 'read_only',
    input: nothing,
    run: async () =>
      content(
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: pngPixel, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ),
  }),
  defineTool({
    name: 'test_error_handling',
    title: 'Error',
    description: 'Always fails.',
    category: 'read_only',
    input: nothing,
    run: async () => ({
      kind: 'rich',
      data: 'This tool intentionally returns an error for testing',
      content: [],
      isError: true,
    }),
  }),
]

const streamingTools: readonly Tool[] = [
  defineTool({
    name: 'test_tool_with_logging',
    title: 'Logging',
    description: 'Sends three log messages.',
    category: 'read_only',
    input: nothing,
    run: async (_, { log }) => {
      log('info', 'Tool execution started')
      await pause()
      log('info', 'Tool processing data')
      await pause()
      log('info', 'Tool execution completed')
      return 'Logged three messages'
    },
  }),
  defineTool({
    name: 'test_logging_tool',
    title: 'Logging, once',
    description: 'Sends a log message to a client that asked for them.',
    category: 'read_only',
    input: nothing,
    run: async (_, { log }) => {
      log('info', 'a message')
      return 'Logged'
    },
  }),
  defineTool({
    name: 'test_tool_with_progress',
    title: 'Progress',
    description: 'Reports progress three times.',
    category: 'read_only',
    input: nothing,
    run: async (_, { progress }) => {
      for (const done of [0, 50, 100]) {
        progress(done, 100)
        await pause()
      }
      return 'Completed'
    },
  }),
]

const askingTools: readonly Tool[] = [
  defineTool({
    name: 'test_sampling',
    title: 'Sampling',
    description: 'Asks the client’s model.',
    category: 'read_only',
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['prompt'],
      properties: { prompt: { type: 'string' } },
    },
    run: async ({ prompt }, { ask }) => {
      const { reply } = await ask({ reply: sampling(prompt, 100) })
      return `LLM response: ${textOf(reply)}`
    },
  }),
  defineTool({
    name: 'test_elicitation',
    title: 'Elicitation',
    description: 'Asks the person at the client.',
    category: 'read_only',
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['message'],
      properties: { message: { type: 'string' } },
    },
    run: async ({ message }, { ask }) => {
      const properties = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }
      const { answer } = await ask({ answer: form(message, properties, ['username', 'email']) })
      return `User response: ${JSON.stringify(answer)}`
    },
  }),
  defineTool({
    name: 'test_elicitation_sep1034_defaults',
    title: 'Elicitation with defaults',
    description: 'Asks with a default for every primitive type.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => {
      const { answer } = await ask({
        answer: form('Please review the defaults', {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        }),
      })
      return completed(answer)
    },
  }),
  defineTool({
    name: 'test_elicitation_sep1330_enums',
    title: 'Elicitation with choices',
    description: 'Asks with every form of enumeration.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => {
      const options = ['option1', 'option2', 'option3']
      const titled = [
        { const: 'value1', title: 'First Option' },
        { const: 'value2', title: 'Second Option' },
        { const: 'value3', title: 'Third Option' },
      ]
      const { answer } = await ask({
        answer: form('Please choose', {
          untitledSingle: { type: 'string', enum: options },
          titledSingle: { type: 'string', oneOf: titled },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
          titledMulti: { type: 'array', items: { anyOf: titled } },
        }),
      })
      return completed(answer)
    },
  }),
  defineTool({
    name: 'test_missing_capability',
    title: 'Needs sampling',
    description: 'Cannot run without a client that samples.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => textOf((await ask({ reply: sampling('hello', 10) }))['reply']),
  }),
  defineTool({
    name: 'test_streaming_elicitation',
    title: 'Elicitation on a stream',
    description: 'Asks the person at the client.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => completed((await ask({ answer: nameForm() }))['answer']),
  }),
]

const roundTools: readonly Tool[] = [
  defineTool({
    name: 'test_input_required_result_elicitation',
    title: 'Round trip: elicitation',
    description: 'Asks for a name.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) =>
      `Hello, ${fieldOf((await ask({ user_name: nameForm() }))['user_name'], 'name')}!`,
  }),
  defineTool({
    name: 'test_input_required_result_sampling',
    title: 'Round trip: sampling',
    description: 'Asks the client’s model.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => {
      const answers = await ask({ capital_question: sampling('What is the capital of France?', 100) })
      return textOf(answers['capital_question'])
    },
  }),
  defineTool({
    name: 'test_input_required_result_list_roots',
    title: 'Round trip: roots',
    description: 'Asks for the client’s roots.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) =>
      JSON.stringify((await ask({ client_roots: { method: 'roots/list', params: {} } }))['client_roots']),
  }),
  defineTool({
    name: 'test_input_required_result_request_state',
    title: 'Round trip: state',
    description: 'Asks for a confirmation and remembers that it did.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => {
      await ask({ confirm: form('Please confirm', { ok: { type: 'boolean' } }, ['ok']) })
      return 'state-ok'
    },
  }),
  defineTool({
    name: 'test_input_required_result_multiple_inputs',
    title: 'Round trip: several questions',
    description: 'Asks three things at once.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) =>
      JSON.stringify(
        await ask({
          user_name: nameForm(),
          greeting: sampling('Generate a greeting', 50),
          client_roots: { method: 'roots/list', params: {} },
        }),
      ),
  }),
  defineTool({
    name: 'test_input_required_result_multi_round',
    title: 'Round trip: twice',
    description: 'Asks one thing after another.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => {
      const first = await ask({
        step1: form('Step 1: What is your name?', { name: { type: 'string' } }, ['name']),
      })
      const second = await ask({
        step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color']),
      })
      return `${fieldOf(first['step1'], 'name')} likes ${fieldOf(second['step2'], 'color')}`
    },
  }),
  defineTool({
    name: 'test_input_required_result_tampered_state',
    title: 'Round trip: tampered state',
    description: 'Asks for a confirmation.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => {
      await ask({ confirm: form('Please confirm', { ok: { type: 'boolean' } }, ['ok']) })
      return 'confirmed'
    },
  }),
  defineTool({
    name: 'test_input_required_result_capabilities',
    title: 'Round trip: capabilities',
    description: 'Asks only what the client can answer.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) =>
      JSON.stringify(await ask({ user_name: nameForm(), greeting: sampling('Generate a greeting', 50) })),
  }),
]

const schemaTools: readonly Tool[] = [
  defineTool({
    name: 'json_schema_2020_12_tool',
    asWritten: true,
    title: 'JSON Schema 2020-12',
    description: 'Tool with JSON Schema 2020-12 features',
    category: 'read_only',
    input: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    run: async (args) => args,
  }),
  defineTool({
    name: 'test_header_parameter',
    title: 'Mirrored parameter',
    description: 'Takes a parameter that a header repeats.',
    category: 'read_only',
    input: {
      type: 'object',
      additionalProperties: false,
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
    run: async (args) => args,
  }),
]

const seconds = (many: number, signal?: AbortSignal): Promise<void> =>
  delay(many * 1000, undefined, { ...(signal && { signal }) })
const confirmForm = (message: string): ClientQuestion => form(message, { confirm: { type: 'boolean' } })

/** Calls that take so long that a client which can poll gets a task, and questions before and after that. */
const longTools: readonly Tool[] = [
  defineTool({
    name: 'greet',
    title: 'Greeting',
    description: 'Answers at once.',
    category: 'read_only',
    input: { type: 'object', properties: { name: { type: 'string' } } },
    run: async ({ name = '' }) => `Hello, ${name}!`,
  }),
  defineTool({
    name: 'slow_compute',
    title: 'Slow computation',
    description: 'Answers after so many seconds.',
    category: 'read_only',
    input: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } },
    run: async ({ seconds: many = 1, label = '' }, { signal }) => {
      await seconds(many, signal)
      return `computed ${label}`
    },
  }),
  defineTool({
    name: 'failing_job',
    title: 'Failing job',
    description: 'Fails after a second.',
    category: 'read_only',
    onlyAsTask: true,
    input: nothing,
    run: async () => {
      await seconds(1.2)
      return { kind: 'rich', data: 'the job failed', content: [], isError: true }
    },
  }),
  defineTool({
    name: 'protocol_error_job',
    title: 'Broken job',
    description: 'Ends in an error of the protocol; `both` sees to that.',
    category: 'read_only',
    input: nothing,
    run: () => seconds(1.2),
  }),
  defineTool({
    name: 'confirm_delete',
    title: 'Confirmed deletion',
    description: 'Asks while it runs.',
    category: 'read_only',
    input: { type: 'object', properties: { filename: { type: 'string' } } },
    run: async ({ filename = '' }, { ask }) => {
      await seconds(1)
      await ask({ confirm: confirmForm(`Delete ${filename}?`) })
      return `deleted ${filename}`
    },
  }),
  defineTool({
    name: 'multi_input',
    title: 'Two questions',
    description: 'Asks two things at once while it runs.',
    category: 'read_only',
    input: nothing,
    run: async (_, { ask }) => {
      await seconds(1)
      const answers = await ask({ first: confirmForm('First?'), second: confirmForm('Second?') })
      return `heard ${Object.keys(answers).join(' and ')}`
    },
  }),
  defineTool({
    name: 'test_tool_with_task',
    title: 'A question, then a task',
    description: 'Asks before it begins what takes long.',
    category: 'read_only',
    onlyAsTask: true,
    input: nothing,
    run: async (_, { ask }) => {
      const { user_name: answer } = await ask({
        user_name: form('Who are you?', { name: { type: 'string' } }),
      })
      await seconds(1)
      return `Hello, ${fieldOf(answer, 'name')}`
    },
  }),
]

/** Every fixture tool but the two that change a list. */
export const fixtureTools: readonly Tool[] = [
  ...contentTools,
  ...streamingTools,
  ...askingTools,
  ...roundTools,
  ...schemaTools,
  ...longTools,
]

/** A tool that calls the function given: the suite changes lists through it. */
export function triggerTool(name: string, title: string, trigger: () => void): Tool {
  return defineTool({
    name,
    title,
    description: `${title}.`,
    category: 'read_only',
    input: nothing,
    run: async () => {
      trigger()
      return 'changed'
    },
  })
}

/** A question in a form of these properties. */
export function form(message: string, properties: object, required: readonly string[] = []): ClientQuestion {
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties, required } },
  }
}

function nameForm(): ClientQuestion {
  return form('What is your name?', { name: { type: 'string' } }, ['name'])
}

function sampling(text: string, maxTokens: number): ClientQuestion {
  return {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens },
  }
}

function textOf(answer: unknown): string {
  return (answer as { content: { text: string } }).content.text
}

function fieldOf(answer: unknown, name: string): string {
  return (answer as { content: Record<string, string> }).content[name] ?? ''
}

function completed(answer: unknown): string {
  const { action, content: given } = answer as { action: string; content?: unknown }
  return `Elicitation completed: action=${action}, content=${JSON.stringify(given ?? {})}`
}
