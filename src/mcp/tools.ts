/** Answers `tools/list` and `tools/call` (specification §4.5). Exactly the listed tools can be called. */
import type { Audit } from '#audit/audit.ts'
import { messageOf } from '#leaf/errors.ts'
import type { Principal } from '../core/principal.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { Settings } from '../core/settings.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import type { Caller, OfferedTool, ToolOutcome } from '../tools/gate/catalogue.ts'
import { idempotencyKey } from '../tools/tool.ts'
import { fitted } from '../library/prompts/lint.ts'
import { type Asking, askingFor } from './waiting/asking.ts'
import {
  type Call,
  type HostViews,
  type McpLogLevel,
  type McpSnapshot,
  logLevels,
  peerOf,
  type Reply,
} from './call.ts'
import { confirm } from './waiting/confirmation.ts'
import { decodeHeader, mismatch } from './envelope.ts'
import { answerMeta, showsViews } from './host-views.ts'
import { isObject } from '#leaf/as-json.ts'
import { errorCodes, type Json, JsonRpcError, objectParam, textParam } from './json-rpc.ts'
import type { Pages } from './lists.ts'
import type { LogLevels } from './running.ts'
import { structureOf, shapeContent, shapeTool } from './shape.ts'
import { skillFor } from './skills.ts'
import { callKey } from './waiting/suspended-calls.ts'
import { requireTasks, runAsTask, takesTasks, type TaskDeps } from './waiting/task-methods.ts'

/** Lists the tools that this principal may call. */
export function listTools(
  call: Call,
  { listPages, publicUrl }: { readonly listPages: Pages; readonly publicUrl: () => string },
): Reply {
  const { catalogue, settings, library } = call.snapshot
  const describe = describer(call.snapshot, call.principal, settings.mcp.skill_mode)
  return listPages.page(call, {
    field: 'tools',
    digest: `${catalogue.digest(call.principal)}\n${settings.mcp.structured_results}\n${library.skillsDigest(call.principal)}\n${showsViews(call)}`,
    items: () => catalogue.offered(call.principal),
    keyOf: ({ tool }) => tool.name,
    shape: (offered) => shapeTool(call, offered, describe(offered), publicUrl()),
  })
}

/**
 * Returns the function that describes tools to a principal: without what sends it to tools that it lacks, and with
 * the skill that teaches the tool, named at the first tool that it teaches. In `replace` mode the skill replaces the description, which saves the model's context.
 */
export function describer(
  { catalogue, library }: Pick<McpSnapshot, 'catalogue' | 'library'>,
  principal: Principal,
  mode: Settings['mcp']['skill_mode'],
): (offered: OfferedTool) => string {
  const lacks = catalogue.lacks(principal)
  const skills = library.skills(principal)
  return ({ tool }) => {
    const skill = skillFor(skills, tool.name)
    if (skill && mode === 'replace') return `Read the skill ${skill.name} first.`
    const description = fitted(tool.description, lacks)
    // Once is enough: the instructions list all skills.
    const first = skill?.tools.find((name) => typeof catalogue.find(principal, name) !== 'string')
    return skill && first === tool.name ? `${description} Skill: ${skill.name}.` : description
  }
}

/** Runs one tool. */
export function callTool(
  call: Call,
  deps: TaskDeps & {
    readonly audit: Audit
    readonly logLevels: LogLevels
    readonly views: HostViews
    readonly publicUrl: () => string
  },
): Promise<Reply> {
  const { catalogue } = call.snapshot
  const { name, args, found, repeatable } = readCall(call)
  const run = async (own: Call, given?: Asking): Promise<Json> => {
    const wanted = given ?? askingFor(own, deps.suspended)
    const asking = wanted instanceof Promise ? await wanted : wanted
    const outcome = await catalogue.call(call.principal, name, args, {
      stop: own.stop,
      progress: progressOf(own),
      log: logOf(own, name, own.revision.modern ? own.logLevel : deps.logLevels.get(own.principal)),
      ask: asking.ask,
      library: own.snapshot.library,
      publicUrl: deps.publicUrl(),
      repeatable,
      confirm: (offered) => confirm(own, asking, offered, args, deps),
    })
    const interrupted = asking.interrupted()
    const open = interrupted instanceof Promise ? await interrupted : interrupted
    const result = open ?? resultOf(own, found, outcome)
    return showsViews(own) ? { ...result, ...(await answerMeta(own, found, deps.views)) } : result
  }
  return takesTasks(call) ? runAsTask(call, name, deps, run) : run(call)
}

/**
 * Returns the idempotency key of a call that its client may have to repeat, from `_meta` or, as in other HTTP APIs, a
 * header (draft-ietf-httpapi-idempotency-key-header). Keys belong to the peer: others may choose the same.
 */
function repeatableOf(call: Call, name: string, args: Json): Caller['repeatable'] {
  const { params, headers, principal } = call
  const meta = isObject(params['_meta']) ? params['_meta'][idempotencyKey] : undefined
  const key = meta ?? headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new JsonRpcError(
      errorCodes.invalidParams,
      `${idempotencyKey} in params._meta, or the Idempotency-Key header, must be 1 to 255 visible ASCII characters`,
    )
  const id = sha256(`idempotency ${peerOf(principal)}\n${key}`)
  return { id, call: sha256(`${principal.roleKey}\n${callKey(principal, name, args)}`) }
}

interface CallOfTool extends Pick<Caller, 'repeatable'> {
  readonly name: string
  readonly args: Json
  readonly found: OfferedTool | string
}

/** Reads the tool and arguments of a call. A malformed call is audited as it came. */
function readCall(call: Call): CallOfTool {
  const { catalogue } = call.snapshot
  try {
    const name = textParam(call.params, 'name')
    const args = objectParam(call.params, 'arguments')
    const found = catalogue.find(call.principal, name)
    if (call.revision.envelope) checkParamHeaders(call, found, args)
    if (typeof found !== 'string' && found.tool.onlyAsTask) requireTasks(call)
    return { name, args, found, repeatable: repeatableOf(call, name, args) }
  } catch (error) {
    catalogue.tellMalformed(call.principal, call.params['name'], call.params['arguments'], messageOf(error))
    throw error
  }
}

/** Returns one text, then other content (specification §4.5); a call that reached no tool is an error (specification §7.1). */
function resultOf(
  { revision, snapshot }: Call,
  found: OfferedTool | string,
  { text, content, structured, isError, refused }: ToolOutcome,
): Json {
  if (refused === 'unknown') throw new JsonRpcError(errorCodes.invalidParams, text)
  if (refused === 'disabled' || refused === 'forbidden')
    throw new JsonRpcError(revision.applicationError, text)
  if (refused === 'invalid' && !revision.argumentFaultsAreResults)
    throw new JsonRpcError(errorCodes.invalidParams, text)
  const blocks = text === '' && content.length > 0 ? content : [{ type: 'text' as const, text }, ...content]
  const isStructured =
    structured && typeof found !== 'string' && structureOf(revision, snapshot.settings, found.tool)
  return {
    content: shapeContent(revision, blocks),
    // Rule 1: the text is that JSON.
    structuredContent: isStructured ? new WrittenJson(text, () => structured) : undefined,
    isError,
  }
}

/** Requires that arguments which a tool's schema mirrors in headers are there and equal (MCP 2026-07-28, `x-mcp-header`). */
function checkParamHeaders(call: Call, found: OfferedTool | string, args: Json): void {
  for (const { header, path } of typeof found === 'string' ? [] : mirrored(found.tool.input)) {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args)
    const said = call.headers[`mcp-param-${header.toLowerCase()}`]
    if (value === undefined || value === null) {
      if (said !== undefined) throw mismatch(`the Mcp-Param-${header} header has no argument`)
      continue
    }
    if (said === undefined) throw mismatch(`the Mcp-Param-${header} header is required`)
    if (typeof said !== 'string' || !sameParam(value, said)) {
      throw mismatch(`the Mcp-Param-${header} header does not match arguments.${path.join('.')}`)
    }
  }
}

/** True when a header equals the argument; integers compare as numbers (`42.0` is 42). */
function sameParam(value: unknown, header: string): boolean {
  // Outside visible ASCII, a value must come encoded.
  if (!/^[\x20-\x7e]*$/.test(header)) return false
  const text = decodeHeader(header)
  return typeof value === 'number' ? text.trim() !== '' && Number(text) === value : text === String(value)
}

interface Mirrored {
  readonly header: string
  readonly path: readonly string[]
}

// Schemas live as long as their snapshot, so each is searched once.
const mirroredOf = new WeakMap<object, readonly Mirrored[]>()

function mirrored(schema: Json): readonly Mirrored[] {
  const known = mirroredOf.get(schema)
  if (known) return known
  const found = findMirrored(schema, [])
  mirroredOf.set(schema, found)
  return found
}

/** Finds the annotated properties, along chains of `properties` only. */
function findMirrored(schema: Json, path: readonly string[]): Mirrored[] {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isObject(property)) return []
    const here = [...path, name]
    const header = property['x-mcp-header']
    return typeof header === 'string' ? [{ header, path: here }] : findMirrored(property, here)
  })
}

/** Returns the function that sends progress to a client that gave a token; values must grow (MCP, progress). */
function progressOf({ channel, progressToken, stop }: Call): Caller['progress'] {
  let last = -Infinity
  return (progress, total, message) => {
    if (progressToken === undefined || progress <= last || stop.reason) return
    last = progress
    const params = {
      progressToken,
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    }
    channel.send({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }
}

/** Returns the function that sends log messages to a client that asked for their level. */
function logOf({ channel, stop }: Call, logger: string, least: McpLogLevel | undefined): Caller['log'] {
  return (level, data) => {
    if (least === undefined || stop.reason || logLevels.indexOf(level) < logLevels.indexOf(least)) return
    channel.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level, logger, data } })
  }
}
