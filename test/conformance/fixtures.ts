/**
 * What the official conformance suite expects of a server: tools, prompts and resources beside the site's own. They
 * reach into a running daemon from outside; nothing of it ships, and nothing that ships knows of it.
 */
import { askingFor } from '../../src/mcp/waiting/asking.ts'
import type { Call, Reply } from '../../src/mcp/call.ts'
import { errorCodes, JsonRpcError, objectParam } from '../../src/mcp/json-rpc.ts'
import { type Method, methods } from '../../src/mcp/methods.ts'
import { shapeContent, shapePrompt, shapeResource } from '../../src/mcp/shape.ts'
import type { Services } from '../../src/house/services.ts'
import type { ServedSnapshot, Snapshot } from '../../src/house/snapshot.ts'
import type { Principal } from '../../src/core/principal.ts'
import { createCalls } from '../../src/tools/gate/calls.ts'
import type { Catalogue } from '../../src/tools/gate/catalogue.ts'
import { createCatalogue } from '../../src/tools/gate/create-catalogue.ts'
import type { AskClient, Content } from '../../src/tools/tool.ts'
import { fixtureTools, form, triggerTool } from './fixture-tools.ts'
import { pngPixel } from './media.ts'

/** Offers everything that the suite asks for. */
export function offerFixtures(services: Services): void {
  const { audit, clock, log, site, subscriptions } = services
  const calls = createCalls()
  let toolChanges = 0
  let promptChanges = 0
  const tools = [
    ...fixtureTools,
    triggerTool('test_trigger_tool_change', 'Change the list of tools', () => {
      toolChanges++
      subscriptions.changed()
    }),
    triggerTool('test_trigger_prompt_change', 'Change the list of prompts', () => {
      promptChanges++
      subscriptions.changed()
    }),
  ]

  const dressed = new WeakMap<Snapshot, Snapshot>()
  const dress = (snapshot: Snapshot): Snapshot => {
    const { documents, settings } = snapshot
    const added = createCatalogue({
      tools,
      settings: { settings: new Map(), profiles: [] },
      limits: settings.tools,
      documents,
      audit,
      clock,
      log,
      calls,
    })
    const catalogue = both(snapshot.catalogue, added, () => String(toolChanges))
    const seen = (principal: Principal): ServedSnapshot => {
      const served = snapshot.for(principal)
      const promptsDigest = (): string => `${served.library.promptsDigest(principal)} ${promptChanges}`
      const library = new Proxy(served.library, {
        get: (real, name) => {
          if (name === 'promptsDigest') return promptsDigest
          const value: unknown = Reflect.get(real, name, real)
          return typeof value === 'function' ? (value.bind(real) as unknown) : value
        },
      })
      return { ...served, catalogue, library }
    }
    return { ...snapshot, catalogue, for: seen }
  }
  const current = site.current.bind(site)
  Object.assign(site, {
    current: () => {
      const snapshot = current()
      const known = dressed.get(snapshot) ?? dress(snapshot)
      dressed.set(snapshot, known)
      return known
    },
  })
  wrapMethods()
}

/** The site's own tools and those beside them. */
function both(own: Catalogue, added: Catalogue, changes: () => string): Catalogue {
  const isOurs = (name: string): boolean => tools.has(name)
  const tools = new Set([
    ...fixtureTools.map(({ name }) => name),
    'test_trigger_tool_change',
    'test_trigger_prompt_change',
  ])
  return {
    offered: (principal) => [...own.offered(principal), ...added.offered(principal)],
    find: (principal, name) => (isOurs(name) ? added : own).find(principal, name),
    call: async (principal, name, args, caller) => {
      const outcome = await (isOurs(name) ? added : own).call(principal, name, args, caller)
      if (name === 'protocol_error_job') throw new JsonRpcError(errorCodes.internal, 'the job broke')
      return outcome
    },
    lacks: (principal) => own.lacks(principal),
    effect: (...call) => own.effect(...call),
    recorded: (...call) => own.recorded(...call),
    tellMalformed: (...call) => own.tellMalformed(...call),
    digest: (principal) => `${own.digest(principal)} ${changes()}`,
  }
}

type Answer = (
  call: Call,
  deps: Parameters<Method['handle']>[1],
) => Reply | undefined | Promise<Reply | undefined>

/** Prompts and resources: the fixtures answer what is theirs, the real method everything else. */
function wrapMethods(): void {
  const wrap = (name: string, first: Answer): void => {
    const { handle } = methods[name]!
    Object.assign(methods[name]!, {
      handle: async (call: Call, deps: Parameters<Answer>[1]) =>
        (await first(call, deps)) ?? handle(call, deps),
    })
  }
  const extend = (name: string, field: string, more: (call: Call) => readonly unknown[]): void => {
    const { handle } = methods[name]!
    Object.assign(methods[name]!, {
      handle: async (call: Call, deps: Parameters<Answer>[1]) => {
        const bytes = (await handle(call, deps)) as Buffer
        const listed = JSON.parse(bytes.toString()) as Record<string, unknown[]>
        return { ...listed, [field]: [...listed[field]!, ...more(call)] }
      },
    })
  }
  extend('prompts/list', 'prompts', ({ revision }) => entries.map((entry) => shapePrompt(revision, entry)))
  extend('resources/list', 'resources', ({ revision }) =>
    fixed.map(({ uri, name, description, mimeType }) =>
      shapeResource(revision, { uri, name, description, mimeType }),
    ),
  )
  extend('resources/templates/list', 'resourceTemplates', () => [
    {
      uriTemplate: templateUri,
      name: 'Data by id',
      description: 'A document made for any id',
      mimeType: 'application/json',
    },
  ])
  wrap('prompts/get', async (call, { suspended }) => {
    const { name } = call.params
    const entry = entries.find((one) => one.name === name)
    if (!entry) return undefined
    const asking = await askingFor(call, suspended)
    try {
      const messages = await messagesOf(entry.name, objectParam(call.params, 'arguments'), asking.ask)
      const shaped = messages.map((content) => ({
        role: 'user',
        content: shapeContent(call.revision, [content])[0],
      }))
      return { description: entry.description, messages: shaped }
    } catch (error) {
      const interrupted = await asking.interrupted()
      if (interrupted) return interrupted
      throw error
    }
  })
  wrap('resources/read', (call) => {
    const contents = contentsOf(String(call.params['uri']))
    return contents && { contents: [contents] }
  })
  wrap('resources/subscribe', (call) => (contentsOf(String(call.params['uri'])) ? {} : undefined))
  wrap('completion/complete', ({ params }) => {
    const ref = objectParam(params, 'ref')
    const { value } = objectParam(params, 'argument')
    const ours = entries.some(({ name }) => name === ref['name'])
    if (!ours && ref['uri'] !== templateUri) return undefined
    const values = ours ? ['paris', 'park', 'party'].filter((one) => one.startsWith(String(value))) : []
    return { completion: { values, total: values.length, hasMore: false } }
  })
}

const argument = (name: string, description: string): object => ({ name, description, required: true })

const entries = [
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

async function messagesOf(
  name: string,
  args: Record<string, unknown>,
  ask: AskClient,
): Promise<readonly Content[]> {
  const text = (value: string): Content => ({ type: 'text', text: value })
  switch (name) {
    case 'test_simple_prompt':
      return [text('This is a simple prompt for testing.')]
    case 'test_prompt_with_arguments':
      return [text(`Prompt with arguments: arg1='${String(args['arg1'])}', arg2='${String(args['arg2'])}'`)]
    case 'test_prompt_with_embedded_resource': {
      const uri = String(args['resourceUri'])
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' }
      return [{ type: 'resource', resource }, text('Please process the embedded resource above.')]
    }
    case 'test_prompt_with_image':
      return [
        { type: 'image', data: pngPixel, mimeType: 'image/png' },
        text('Please analyze the image above.'),
      ]
    default: {
      const schema = { context: { type: 'string' } }
      const question = form('What context should the prompt use?', schema, ['context'])
      const { user_context } = await ask({ user_context: question })
      return [text(`Context: ${JSON.stringify(user_context)}`)]
    }
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

function contentsOf(uri: string): object | undefined {
  const resource = fixed.find((one) => one.uri === uri)
  if (resource) {
    const { name: _name, description: _description, ...contents } = resource
    return contents
  }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id === undefined) return undefined
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
  return { uri, mimeType: 'application/json', text }
}
