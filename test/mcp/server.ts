/** Starts the MCP endpoint alone on a free port: hand-written catalogue and library, a principal for each bearer token. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import Koa from 'koa'
import type { AuditEvent } from '#audit/audit.ts'
import { systemClock, type Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { createLog } from '#leaf/log.ts'
import { roleKeyOf, sessionIdOf, type Principal } from '../../src/core/principal.ts'
import type { WaitingApproval } from '../../src/core/suspended.ts'
import { compileSchema, problemsText } from '#leaf/schema.ts'
import { sha256 } from '#leaf/secrets.ts'
import { settingsSchema, type Settings } from '../../src/core/settings.ts'
import { WholeAnswers } from '#front/whole-answer.ts'
import type { PromptTemplate, Skill } from '../../src/library/words.ts'
import { mcpEndpoint } from '../../src/mcp/mcp-endpoint.ts'
import { originGuard } from '../../src/mcp/origin-endpoint.ts'
import type { Choices, McpSnapshot } from '../../src/mcp/call.ts'
import { Pages } from '../../src/mcp/lists.ts'
import { KeptStreams } from '../../src/mcp/streams/kept-streams.ts'
import { LogLevels, RunningCalls } from '../../src/mcp/running.ts'
import { Subscriptions } from '../../src/mcp/streams/subscriptions.ts'
import { SuspendedCalls } from '../../src/mcp/waiting/suspended-calls.ts'
import { Tasks } from '../../src/mcp/waiting/tasks.ts'
import { openEmbeddedStore } from '#state/embedded/store.ts'
import type { Store } from '#state/store.ts'
import { createCalls } from '../../src/tools/gate/calls.ts'
import type { Confirmation } from '../../src/tools/gate/catalogue.ts'
import { type CatalogueParts, createCatalogue } from '../../src/tools/gate/create-catalogue.ts'
import type { ToolSetting } from '../../src/tools/gate/read-tools.ts'
import type { Tool } from '../../src/tools/tool.ts'

export interface Options {
  readonly tools?: readonly Tool[]
  /** Tools that exist but that the site has switched off. */
  readonly disabled?: readonly string[]
  readonly confirm?: Readonly<Record<string, Confirmation>>
  readonly prompts?: readonly PromptTemplate[]
  readonly skills?: readonly Skill[]
  readonly settings?: (settings: Settings) => void
  readonly clock?: Clock
  /** What everybody has chosen on their account page. */
  readonly choices?: Choices
  /** A state to share with another server. */
  readonly store?: Store
  /** Who a bearer token is; any other token is `user`. */
  readonly principals?: Readonly<Record<string, Partial<Principal>>>
}

export interface TestServer {
  readonly url: string
  readonly events: AuditEvent[]
  readonly logged: string[]
  readonly suspended: SuspendedCalls
  readonly subscriptions: Subscriptions
  readonly tasks: Tasks
  readonly store: Store
  readonly running: RunningCalls
  /** Swaps the snapshot as a reload does, and tells the subscribers. */
  reload(options: Options): void
  /** Takes every permission from a user. */
  disable(user: string): void
  /** Sends a body as it is. */
  send(body: string, headers?: Record<string, string>, method?: string): Promise<Answer>
  /** Sends one JSON-RPC request, in the way of the revision named. */
  call(method: string, params?: Record<string, unknown>, options?: CallOptions): Promise<Answer>
}

export interface CallOptions {
  /** A legacy version header, `2026-07-28`, or undefined for no header. */
  readonly revision?: string | undefined
  readonly id?: string | number
  readonly headers?: Record<string, string>
  readonly capabilities?: Record<string, unknown>
  readonly meta?: Record<string, unknown>
  readonly token?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The answer, the last message of a stream if it came as one. */
  readonly json: any
  /** Every message of the stream, or the one answer. */
  readonly messages: any[]
}

export const modern = '2026-07-28'

/** Everything that the endpoint needs, in memory, on a free port. */
export async function startServer(t: TestContext, options: Options = {}): Promise<TestServer> {
  const clock = options.clock ?? systemClock
  const events: AuditEvent[] = []
  const logged: string[] = []
  const audit = {
    record: async (event: AuditEvent) => void events.push(event),
    recordIn: async (_: unknown, event: AuditEvent) => void events.push(event),
    requireWritable: () => {},
  }
  const disabledUsers = new Set<string>()
  const log = createLog('info', { write: (line) => void logged.push(line) })
  const refreshed = (principal: Principal): Principal | undefined =>
    disabledUsers.has(principal.user) ? undefined : principal
  const parts = { audit, clock, log, current: refreshed }
  let current = snapshotOf(options, parts)
  let requests = 0
  let url = ''

  const app = new Koa()
  app.use(async (ctx, next) => {
    const token = /^Bearer (.+)$/.exec(ctx.get('authorization'))?.[1] ?? 'user'
    ctx.state['requestId'] = `request-${++requests}`
    ctx.state['principal'] = {
      ...principalFor(token, options, ctx.state['requestId'] as string),
      sessionId: sessionIdOf(ctx.headers['mcp-session-id']),
    }
    await next()
  })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const publicUrl = (): string => new URL(url).origin
  const deps = {
    snapshot: () => current,
    audit,
    clock,
    log,
    signingKey: 'test key',
    publicUrl,
    version: '9.9.9',
    views: {
      html: (view: string) => `<!doctype html><title>${view}</title>`,
      waitingFor: (user: string) => suspended.waitingFor(user),
      about: (call: WaitingApproval) => ({ title: call.title, url: suspended.urlOf(call) }),
    },
    refreshed,
    accounts: {
      of: () => Promise.resolve(options.choices ?? {}),
    },
  }
  const folder = await mkdtemp(join(tmpdir(), 'assistant-core-mcp-'))
  const store = options.store ?? (await openEmbeddedStore({ folder, clock, log }))
  const suspended = new SuspendedCalls({
    store,
    clock,
    audit,
    pageOf: (id) => `${publicUrl()}/approvals/${id}`,
  })
  const running = new RunningCalls(store, audit)
  const tasks = new Tasks({ store, clock, running })
  const subscriptions = new Subscriptions(deps)
  app.use(originGuard({ publicUrl, settings: () => deps.snapshot().settings }))
  const endpoint = mcpEndpoint({
    ...deps,
    suspended,
    running,
    kept: new KeptStreams({ store, clock, log }),
    subscriptions,
    tasks,
    listPages: new Pages(deps.signingKey, deps.version),
    logLevels: new LogLevels(),
    answers: new WholeAnswers(),
  })
  app.use((ctx) => {
    ctx.respond = false
    return endpoint(ctx)
  })
  // eslint-disable-next-line typescript/no-misused-promises
  server.on('request', app.callback())
  t.after(async () => {
    subscriptions.close()
    server.closeAllConnections()
    server.close()
    await tasks.close()
    if (!options.store) await store.close()
    await rm(folder, { recursive: true, force: true })
  })

  const send: TestServer['send'] = async (body, headers = {}, method = 'POST') => {
    const response = await fetch(url, {
      method,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
    })
    const text = await response.text()
    const messages = messagesOf(response.headers.get('content-type') ?? '', text)
    return { status: response.status, headers: response.headers, text, json: messages.at(-1), messages }
  }

  return {
    url,
    events,
    logged,
    suspended,
    subscriptions,
    tasks,
    store,
    running,
    reload: (next) => {
      current = snapshotOf(next, parts)
      subscriptions.changed()
    },
    disable: (user) => void disabledUsers.add(user),
    send,
    call: (method, params, callOptions) => {
      const request = requestOf(method, params, callOptions)
      return send(JSON.stringify(request.body), request.headers)
    },
  }
}

/** A request as a client of the revision writes it. */
export function requestOf(
  method: string,
  params: Record<string, unknown> = {},
  options: CallOptions = {},
): { body: Record<string, unknown>; headers: Record<string, string> } {
  const { revision = '2025-06-18', id = 1, token } = options
  const isModern = revision === modern
  const named: Record<string, unknown> = {
    'tools/call': params['name'],
    'prompts/get': params['name'],
    'resources/read': params['uri'],
    'tasks/get': params['taskId'],
    'tasks/update': params['taskId'],
    'tasks/cancel': params['taskId'],
  }
  const headers: Record<string, string> = {
    ...('revision' in options && options.revision === undefined ? {} : { 'mcp-protocol-version': revision }),
    ...(isModern && { 'mcp-method': method }),
    ...(isModern && typeof named[method] === 'string' && { 'mcp-name': named[method] }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...options.headers,
  }
  const meta = {
    ...(isModern && {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientCapabilities': options.capabilities ?? {},
    }),
    ...options.meta,
  }
  const body = {
    jsonrpc: '2.0',
    id,
    method,
    params: { ...params, ...(Object.keys(meta).length > 0 && { _meta: meta }) },
  }
  return { body, headers }
}

export function messagesOf(contentType: string, text: string): any[] {
  if (contentType.startsWith('text/event-stream')) {
    return text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice(6)) as unknown)
  }
  return text === '' ? [] : [JSON.parse(text) as unknown]
}

const defaults = {} as Settings
const settingsProblems = compileSchema(settingsSchema, { defaults: true })(defaults)
if (settingsProblems.length > 0) throw new Error(problemsText(settingsProblems))

export function defaultSettings(change: (settings: Settings) => void = () => {}): Settings {
  const settings = structuredClone(defaults)
  change(settings)
  return settings
}

/** A skill of these files, as `skills/<name>/` gives one. */
export function skillOf(
  name: string,
  files: Record<string, string | Uint8Array>,
  roles: string[] = [],
): Skill {
  return {
    name,
    title: `Skill ${name}`,
    description: `How to do ${name}`,
    status: 'Published',
    visibility: roles.length > 0 ? 'Shared' : 'Public',
    sharedWithRoles: roles,
    isSystem: true,
    owner: 'admin@example.com',
    tools: [],
    doctypes: [],
    frontmatter: { name, description: `How to do ${name}` },
    files: Object.entries(files).map(([path, content]) => {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      return {
        uri: `skill://${name}/${path}`,
        path,
        mimeType: path.endsWith('.md') ? 'text/markdown' : 'application/octet-stream',
        bytes,
        digest: `sha256:${Buffer.from(sha256(bytes), 'base64url').toString('hex')}`,
        text: typeof content === 'string',
      }
    }),
  }
}

/** A published template whose arguments are put in as `{name}`. */
export function promptOf(id: string, change: Partial<PromptTemplate> = {}): PromptTemplate {
  return {
    id,
    name: id,
    title: `Prompt ${id}`,
    description: `What ${id} does`,
    status: 'Published',
    visibility: 'Public',
    engine: 'Format String',
    content: 'Hello {who}',
    arguments: [
      {
        name: 'who',
        label: 'Who',
        type: 'select',
        required: true,
        default: 'world',
        description: 'Whom to greet',
        allowedValues: ['world', 'moon'],
      },
    ],
    sharedWithRoles: [],
    tags: [],
    version: 3,
    isSystem: true,
    owner: 'admin@example.com',
    file: `prompts/${id}.md`,
    digest: `sha256:${'0'.repeat(64)}`,
    ...change,
  }
}

function principalFor(token: string, options: Options, requestId: string): Principal {
  const given = options.principals?.[token] ?? {}
  const roles = given.roles ?? new Set(['Assistant User'])
  return {
    user: `${token}@example.com`,
    fullName: token,
    roleKey: roleKeyOf(roles),
    scopes: [],
    client: { id: 'client-1', name: 'Test client' },
    ...given,
    roles,
    requestId,
  }
}

function snapshotOf(
  options: Options,
  parts: Pick<CatalogueParts, 'audit' | 'clock' | 'log' | 'current'>,
): McpSnapshot {
  const settings = defaultSettings(options.settings)
  const library = libraryOf(options)
  const { tools = [], disabled = [], confirm = {} } = options
  const said = tools.map(({ name }): [string, ToolSetting] => {
    const enabled = !disabled.includes(name)
    return [name, { enabled, confirm: confirm[name] ?? 'never', redact: [], source: 'test' }]
  })
  const catalogue = createCatalogue({
    ...parts,
    tools,
    settings: { settings: new Map(said), profiles: [] },
    limits: settings.tools,
    documents: { platform: { confidential: new Set(), translated: new Map() } } as never,
    calls: createCalls(),
  })
  const names = [
    ...tools.map((tool) => [tool.name, tool.description]),
    ...(options.prompts ?? []).map(({ id, title }) => [id, title]),
    ...(options.skills ?? []).map(({ name, files }) => [name, ...files.map(({ digest }) => digest)]),
    JSON.stringify(settings),
  ]
  return { catalogue, library, settings, digest: sha256(JSON.stringify(names)) }
}

function libraryOf(options: Options): McpSnapshot['library'] {
  const prompts = options.prompts ?? []
  const visible = (principal: Principal): Skill[] =>
    (options.skills ?? []).filter(
      ({ sharedWithRoles }) =>
        sharedWithRoles.length === 0 || sharedWithRoles.some((role) => principal.roles.has(role)),
    )
  const prompt = (id: string): PromptTemplate => {
    const found = prompts.find((one) => one.id === id)
    if (!found) throw new AppError('not_found', `no prompt "${id}"`)
    return found
  }
  return {
    prompts: () => prompts,
    prompt: (_, id) => prompt(id),
    render: async (_, id, args) => {
      const template = prompt(id)
      const missing = template.arguments.filter(({ name, required }) => required && args[name] === undefined)
      if (missing.length > 0) {
        throw new AppError('invalid', `argument "${missing[0]!.name}" is required`, {
          data: { problems: missing.map(({ name }) => ({ argument: name, problem: 'is required' })) },
        })
      }
      return {
        template,
        text: template.content.replaceAll(/\{(\w+)\}/g, (_match, name: string) => String(args[name])),
      }
    },
    complete: async (_, id, argument, typed) => {
      const found = prompt(id).arguments.find(({ name }) => name === argument)
      const values = (found?.allowedValues ?? []).filter((value) => value.startsWith(typed))
      return { values: values.slice(0, 100), total: values.length }
    },
    skills: visible,
    skill: (principal, name) => {
      const found = visible(principal).find((one) => one.name === name)
      if (!found) throw new AppError('not_found', `no skill "${name}"`)
      return found
    },
    countSkillRead: async () => {},
    promptsDigest: () => sha256(JSON.stringify(prompts)),
    skillsDigest: (principal) =>
      sha256(
        JSON.stringify(
          visible(principal).map(({ name, files }) => [name, files.map(({ digest }) => digest)]),
        ),
      ),
  }
}
