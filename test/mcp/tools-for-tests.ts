/** A handful of tools that each show one thing. */
import { AppError } from '#leaf/errors.ts'
import { defineTool } from '../../src/tools/tool.ts'

export const echo = defineTool({
  name: 'echo',
  title: 'Echo',
  description: 'Gives back what it is given.',
  category: 'read_only',
  input: {
    type: 'object',
    additionalProperties: false,
    properties: { text: { type: 'string' }, times: { type: 'integer' } },
  },
  run: async ({ text = 'nothing', times = 1 }) => ({ text, times }),
})

export const add = defineTool({
  name: 'add',
  title: 'Add',
  description: 'Adds two numbers.',
  category: 'read_only',
  input: {
    type: 'object',
    additionalProperties: false,
    required: ['a', 'b'],
    properties: { a: { type: 'number' }, b: { type: 'number' } },
  },
  output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  run: async ({ a, b }) => ({ sum: a + b }),
})

export const fail = defineTool({
  name: 'fail',
  title: 'Fail',
  description: 'Always fails.',
  category: 'write',
  input: { type: 'object', properties: {} },
  run: () => Promise.reject(new AppError('forbidden', 'you may not do this')),
})

export const adminOnly = defineTool({
  name: 'admin_only',
  title: 'Admin only',
  description: 'For administrators.',
  category: 'write',
  roles: ['System Manager'],
  input: { type: 'object', properties: {} },
  run: async () => 'done',
})

/** Every run of `wipe`, with its arguments. */
export function wipeTool(runs: unknown[]) {
  return defineTool({
    name: 'wipe',
    title: 'Wipe',
    description: 'Destroys a thing.',
    category: 'privileged',
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['thing'],
      properties: { thing: { type: 'string' } },
    },
    run: async (args) => {
      runs.push(args)
      return 'wiped'
    },
  })
}

export const askName = defineTool({
  name: 'ask_name',
  title: 'Ask name',
  description: 'Asks the person for a name.',
  category: 'read_only',
  input: { type: 'object', properties: {} },
  run: async (_, { ask }) => {
    const answers = await ask({
      name: {
        method: 'elicitation/create',
        params: {
          message: 'What is your name?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        },
      },
    })
    return `Hello, ${(answers['name'] as { content: { name: string } }).content.name}!`
  },
})

export const slow = defineTool({
  name: 'slow',
  title: 'Slow',
  description: 'Reports progress, logs, and waits until it is cancelled if it is told to.',
  category: 'read_only',
  input: { type: 'object', properties: { wait: { type: 'boolean' } } },
  run: async ({ wait }, { progress, log, signal }) => {
    progress(0, 2)
    log('info', 'started')
    log('debug', 'detail')
    progress(1, 2, 'half')
    progress(1, 2)
    if (wait) {
      await new Promise((resolve) => {
        if (signal.aborted) resolve(undefined)
        signal.addEventListener('abort', resolve)
      })
      throw signal.reason
    }
    progress(2, 2)
    return 'finished'
  },
})

export const pictures = defineTool({
  name: 'pictures',
  title: 'Pictures',
  description: 'Gives every kind of content.',
  category: 'read_only',
  input: { type: 'object', properties: {} },
  run: async () => ({
    kind: 'rich',
    data: 'see:',
    content: [
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'skill://demo/SKILL.md', name: 'demo', description: 'the guide' },
    ],
  }),
})

export const regional = defineTool({
  name: 'regional',
  title: 'Regional',
  description: 'Mirrors an argument in a header.',
  category: 'read_only',
  input: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
    },
  } as never,
  run: async () => 'ok',
})
