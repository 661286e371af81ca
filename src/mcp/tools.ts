/** `tools/list` and `tools/call` (specification §4.5). What is listed is exactly what can be called. */
import { actorOf, type AuditEvent } from '../audit/event.ts'
import type { OfferedTool, Refusal, ToolOutcome } from '../tools/catalogue.ts'
import { askingFor } from './asking.ts'
import { confirm } from './confirmation.ts'
import { decodeHeader, mismatch } from './envelope.ts'
import { codes } from './codes.ts'
import { type Call, isObject, type Json, JsonRpcError, objectParam, textParam } from './protocol.ts'
import { logLevels } from './protocol.ts'
import type { Nouns, Reply } from './nouns.ts'
import { serverInfoOf } from './discovery.ts'
import { shapeContent, shapeTool } from './shape.ts'
import { skillFor } from './skills.ts'

/** The tools that this principal may call. */
export function listTools(call: Call, { deps, pages }: Nouns): Reply {
  const { catalogue, settings, library } = call.snapshot
  const replace = settings.mcp.skill_mode === 'replace'
  const skills = replace ? library.skillsDigest(call.principal) : ''
  return pages.page(
    call,
    {
      field: 'tools',
      digest: `${catalogue.digest(call.principal)}\n${skills}`,
      items: () => catalogue.offered(call.principal),
      keyOf: ({ tool }) => tool.name,
      shape: (offered) => shapeTool(call.revision, offered, descriptionOf(call, offered, replace)),
    },
    serverInfoOf(call.revision, settings, deps.version),
  )
}

/** Runs one tool. */
export async function callTool(call: Call, { deps, approvals, questions, rounds }: Nouns): Promise<Reply> {
  const name = textParam(call.params, 'name')
  const args = objectParam(call.params, 'arguments')
  const { catalogue } = call.snapshot
  const offered = catalogue.find(call.principal, name)
  if (typeof offered === 'string') {
    tell(call, deps, { status: 'denied', target: name.slice(0, 128), error: offered })
    throw refused(call, name, offered)
  }
  if (call.revision.envelope) checkParamHeaders(call, offered, args)

  const problems = catalogue.problems(offered, args)
  if (problems !== undefined) {
    const error = `invalid arguments: ${problems}`
    tell(call, deps, { status: 'error', target: name, error, data: { arguments: args } })
    const text = `invalid arguments for ${name}: ${problems}`
    if (!call.revision.argumentFaultsAreResults) throw new JsonRpcError(codes.invalidParams, text)
    return toolResult(call, { text, content: [], isError: true })
  }

  const asking = askingFor(call, questions, rounds)
  try {
    const outcome =
      (await confirm(call, offered, args, asking, { audit: deps.audit, approvals })) ??
      lostMeanwhile(call, offered, deps) ??
      (await catalogue.call(call.principal, offered, args, {
        signal: call.signal,
        progress: progressOf(call),
        log: logOf(call, name),
        ask: asking.ask,
      }))
    return asking.interrupted() ?? toolResult(call, outcome)
  } catch (error) {
    const interrupted = asking.interrupted()
    if (interrupted) return interrupted
    throw error
  }
}

/** What a person had to confirm may have waited long: who may no longer call the tool does not. */
function lostMeanwhile(call: Call, offered: OfferedTool, deps: Nouns['deps']): ToolOutcome | undefined {
  if (offered.confirm === 'never') return undefined
  const { name } = offered.tool
  const principal = deps.refreshed(call.principal)
  const found = principal ? deps.snapshot(principal).catalogue.find(principal, name) : 'forbidden'
  if (typeof found !== 'string') return undefined
  const text = `permission denied: ${name} is not available to this user any more`
  tell(call, deps, { status: 'denied', target: name, error: text })
  return { text, content: [], isError: true }
}

/** In `replace` mode a tool with a skill says only where its guide is, which saves the model's context. */
function descriptionOf(call: Call, { tool }: OfferedTool, replace: boolean): string {
  const skill = replace ? skillFor(call.snapshot.library.skills(call.principal), tool.name) : undefined
  if (!skill) return tool.description
  const first = tool.description.split(/(?<=\.)\s/, 1)[0]!
  return `${first} Before the first use read ${skill.files[0]!.uri}`
}

/** Specification §4.5: one text, then what else the tool made. */
function toolResult(call: Call, outcome: ToolOutcome): Json {
  const { text, content, structured, isError } = outcome
  const blocks = text === '' && content.length > 0 ? content : [{ type: 'text' as const, text }, ...content]
  return {
    content: shapeContent(call.revision, blocks),
    ...(structured && call.revision.titles && { structuredContent: structured }),
    isError,
  }
}

/** A call that did not come to its tool is told all the same; nothing was done, so nothing waits for it. */
function tell(call: Call, { audit, log }: Nouns['deps'], event: Omit<AuditEvent, 'type'>): void {
  audit
    .record({ ...actorOf(call.principal), type: 'tool.call', ...event })
    .catch((error: unknown) => log.error('a refused tool call could not be audited', { error }))
}

/** Specification §7.1. What a user lacks permission for is told apart from what does not exist only by its code. */
function refused(call: Call, name: string, refusal: Refusal): JsonRpcError {
  const tool = JSON.stringify(name.slice(0, 128))
  if (refusal === 'unknown') return new JsonRpcError(codes.invalidParams, `unknown tool ${tool}`)
  return new JsonRpcError(
    call.revision.applicationError,
    refusal === 'disabled'
      ? `tool ${tool} is disabled`
      : `permission denied: tool ${tool} is not available to this user`,
  )
}

/** Arguments that a tool's schema mirrors in headers must be there and equal (MCP 2026-07-28, `x-mcp-header`). */
function checkParamHeaders(call: Call, { tool }: OfferedTool, args: Json): void {
  for (const { header, path } of mirrored(tool.input)) {
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

/** Whether a header says what the argument says; integers compare as numbers (`42.0` is 42). */
function sameParam(value: unknown, header: string): boolean {
  // Outside visible ASCII a value has to come encoded.
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

/** The annotated properties, along chains of `properties` only. */
function findMirrored(schema: Json, path: readonly string[]): Mirrored[] {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isObject(property)) return []
    const here = [...path, name]
    const header = property['x-mcp-header']
    return typeof header === 'string' ? [{ header, path: here }] : findMirrored(property, here)
  })
}

/** Progress goes to a client that gave a token; values must grow (MCP, progress). */
function progressOf(call: Call): (done: number, total?: number, message?: string) => void {
  let last = -Infinity
  return (progress, total, message) => {
    if (call.progressToken === undefined || progress <= last || call.signal.aborted) return
    last = progress
    call.channel.send({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: {
        progressToken: call.progressToken,
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      },
    })
  }
}

/** Log messages go to a client that asked for their level. */
function logOf(
  call: Call,
  logger: string,
): (level: 'debug' | 'info' | 'warning' | 'error', data: unknown) => void {
  return (level, data) => {
    if (call.logLevel === undefined || call.signal.aborted) return
    if (logLevels.indexOf(level) < logLevels.indexOf(call.logLevel)) return
    call.channel.send({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level, logger, data },
    })
  }
}
