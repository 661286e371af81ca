/** Every MCP method: its handler, its revisions, and whether its answer may be cached. */
import type { Call, McpDeps, Reply } from './call.ts'
import { complete } from './completion.ts'
import { discover, initialize } from './discovery.ts'
import { listen } from './streams/listening.ts'
import type { Pages } from './lists.ts'
import { setLevel } from './logging.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { listResources, listTemplates, readResource, subscribe, unsubscribe } from './resources.ts'
import type { Revision } from './revisions.ts'
import type { LogLevels } from './running.ts'
import { getSkill, listSkills, readDirectory } from './skills.ts'
import type { Subscriptions } from './streams/subscriptions.ts'
import type { SuspendedCalls } from './waiting/suspended-calls.ts'
import { cancelTask, getTask, updateTask } from './waiting/task-methods.ts'
import type { Tasks } from './waiting/tasks.ts'
import { callTool, listTools } from './tools.ts'

/** The dependencies of methods; each names those that it needs. */
export interface MethodDeps extends McpDeps {
  readonly listPages: Pages
  readonly logLevels: LogLevels
  readonly subscriptions: Subscriptions
  readonly suspended: SuspendedCalls
  readonly tasks: Tasks
}

/** One MCP method. */
export interface Method {
  /** Answers the call; undefined when the method keeps the connection and answers later. */
  readonly handle: (call: Call, deps: MethodDeps) => Reply | undefined | Promise<Reply>
  readonly in: 'legacy' | 'modern' | 'both'
  /** True when clients of modern revisions are told how long they may cache the answer. */
  readonly caching?: boolean
  /** True when the work may take long: it can be cancelled. */
  readonly long?: boolean
  /** True when the method must be audited: it is refused with 503 while that is impossible. */
  readonly audited?: boolean
}

/** The methods by name. */
export const methods: Readonly<Record<string, Method>> = {
  initialize: { in: 'legacy', handle: initialize },
  ping: { in: 'legacy', handle: () => ({}) },
  'logging/setLevel': { in: 'legacy', handle: setLevel },
  'resources/subscribe': { in: 'legacy', handle: subscribe },
  'resources/unsubscribe': { in: 'legacy', handle: unsubscribe },
  'server/discover': { in: 'modern', handle: discover, caching: true },
  'subscriptions/listen': { in: 'modern', handle: listen },
  'tools/list': { in: 'both', handle: listTools },
  'tools/call': { in: 'both', handle: callTool, long: true, audited: true },
  'tasks/get': { in: 'modern', handle: getTask },
  'tasks/update': { in: 'modern', handle: updateTask },
  'tasks/cancel': { in: 'modern', handle: cancelTask },
  'prompts/list': { in: 'both', handle: listPrompts },
  'prompts/get': { in: 'both', handle: getPrompt, long: true, audited: true },
  'resources/list': { in: 'both', handle: listResources },
  'resources/templates/list': { in: 'both', handle: listTemplates },
  'resources/read': { in: 'both', handle: readResource, caching: true, long: true, audited: true },
  'resources/directory/read': { in: 'both', handle: readDirectory },
  'skills/list': { in: 'both', handle: listSkills },
  'skills/get': { in: 'both', handle: getSkill, caching: true, audited: true },
  'completion/complete': { in: 'both', handle: complete },
}

/** Returns the method of this name, if the revision has it. */
export function findMethod(revision: Revision, name: string): Method | undefined {
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  if (!method || method.in === 'both') return method
  return (method.in === 'modern') === revision.modern ? method : undefined
}
