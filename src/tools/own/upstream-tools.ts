/** The tools of another MCP server, as the service offers them. */
import { setImmediate } from 'node:timers/promises'
import { isObject } from '#leaf/as-json.ts'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { bounded, dropUnreadablePatterns } from '#leaf/pattern.ts'
import { pathText } from '#leaf/schema.ts'
import type { SecretPath } from '#leaf/secret-files.ts'
import { traceparentOf } from '#telemetry/trace-context.ts'
import type { SourceDocument } from '#site/site-files.ts'
import { type Content, idempotencyKey, type Tool, type ToolCategory } from '../tool.ts'
import { type Vouch, vouchedFor } from './assertion.ts'
import { portable } from '#leaf/portable-schema.ts'
import type { Tell } from '#site/site.ts'
import type { EntryParts, Remark } from './entry-parts.ts'
import type { UpstreamDefinition } from './own-schema.ts'
import { inputProblem } from './check-definitions.ts'
import { prefixOf } from './read-own-tools.ts'
import { requireSecrets, withSecrets } from './templates.ts'
import { Upstream, type UpstreamTool } from '#upstream/upstream.ts'
import { cleanText } from '../../core/values.ts'
import { version } from '../../core/version.ts'

/** Milliseconds in which an upstream has to list its tools. */
const listMilliseconds = 10_000
const mostParts = 2000

interface Passing extends Pick<Tell, 'doubted' | 'well'> {
  readonly upstream: Upstream
  readonly log: Log
  readonly vouch: Vouch
}

/** Makes the server's tools as it listed them last; none before it was reached. */
export function upstreamParts(
  definition: UpstreamDefinition,
  document: SourceDocument,
  {
    folder,
    ...passing
  }: Tell & Omit<Passing, 'upstream'> & { readonly folder: string; readonly secretPath: SecretPath },
): EntryParts {
  const { url = '', command, env = {}, headers = {}, allow_private: allowPrivate = false } = definition
  const upstream = new Upstream({
    server: command
      ? { command, env: () => withSecrets(env, passing.secretPath), folder }
      : { url, headers: () => withSecrets(headers, passing.secretPath), allowPrivate },
    clientInfo: { name: 'assistant-core', version },
    onEnd: passing.failed,
  })
  let listed = ''
  let tools: readonly Tool[] = []
  return {
    tools: () => tools,
    attempt: async () => {
      await requireSecrets(document, 'headers', definition.headers, passing.secretPath)
      await requireSecrets(document, 'env', definition.env, passing.secretPath)
      const found = await upstream.listTools(AbortSignal.timeout(listMilliseconds))
      if (JSON.stringify(found) === listed) return
      listed = JSON.stringify(found)
      const made: Tool[] = []
      for (const tool of found) {
        made.push(...passedOn(definition, tool, { upstream, ...passing }))
        // Reading a schema takes a while, and others have their turn.
        await setImmediate()
      }
      tools = made
    },
    remarks: () =>
      tools.flatMap(({ name, input }) =>
        portable(input).changed.map(({ path, message }): Remark => ({
          ...document.fault(['upstream'], `${name}: ${pathText(['input', ...path])} ${message}`),
          ofListing: true,
        })),
      ),
    place: (message) => document.fault([definition.command ? 'command' : 'url'], message),
    isProcess: definition.command !== undefined,
    close: () => upstream.close(),
  }
}

function passedOn(
  definition: UpstreamDefinition,
  listed: UpstreamTool,
  { upstream, log, vouch, doubted, well }: Passing,
): Tool[] {
  const rules = definition.tools?.[listed.name]
  const name = prefixOf(definition) + listed.name
  if (rules?.enabled === false) return []
  // Upstreams declare older dialects of JSON Schema for keywords that are the same in all of them.
  const { $schema: _, ...input } = isObject(listed.inputSchema) ? listed.inputSchema : {}
  const large = partsOf(input) > mostParts ? `its input has more than ${mostParts} parts` : undefined
  for (const { path, message } of large ? [] : bounded(() => dropUnreadablePatterns(input)))
    log.warn('a pattern of an upstream tool is left to the upstream server', {
      tool: name,
      pattern: pathText(path),
      problem: message,
    })
  const problem = large ?? inputProblem(input)?.message
  if (problem !== undefined || !/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(name)) {
    log.warn('a tool of an upstream server cannot be offered', { tool: name, problem })
    return []
  }
  const roles = rules?.roles ?? definition.roles
  const tool: Tool = {
    name,
    title: shownOf(listed.title, listed.name),
    description: shownOf(listed.description, `The tool ${listed.name} of ${definition.upstream}.`),
    category: rules?.category ?? definition.category ?? categoryOf(listed),
    input,
    openWorld: true,
    ...(definition.timeout_seconds !== undefined && { timeout: definition.timeout_seconds * 1000 }),
    ...(roles && { roles }),
    run: async (args, { signal, principal, repeatable }) => {
      const { trace } = principal
      const { url, upstream: given, assertion } = definition
      const service = url === undefined ? given : new URL(url).origin
      const vouched = await vouchedFor(assertion, service, principal, vouch)
      const meta = {
        ...vouched.meta,
        ...(trace && { traceparent: traceparentOf(trace) }),
        ...(repeatable && { [idempotencyKey]: repeatable.id }),
      }
      const about = { meta, headers: vouched.headers }
      const result = await upstream.callTool(listed.name, args, signal, about).catch((error: unknown) => {
        if (!signal.aborted && !upstream.isThere) doubted()
        throw error
      })
      well()
      const { content = [], structuredContent, isError = false } = result
      if (!Array.isArray(content) || !content.every(isBlock))
        throw new AppError('unavailable', 'the upstream server answered content that MCP does not know')
      return richOf(content, structuredContent, isError)
    },
  }
  return [tool]
}

/** Makes the answer: the first text becomes its text, other content follows. */
function richOf(content: readonly Content[], structured: unknown, isError: boolean): unknown {
  const texts = content.filter((block) => block.type === 'text').map((block) => block.text)
  const others = content.filter((block) => block.type !== 'text')
  const data = texts.length > 0 ? texts.join('\n') : structured
  return { kind: 'rich', ...(data !== undefined && { data }), content: others, isError }
}

function isBlock(block: unknown): block is Content {
  return isObject(block) && typeof block[block['type'] === 'text' ? 'text' : 'type'] === 'string'
}

/** Returns what is shown of a tool, without characters that people cannot see. */
function shownOf(given: unknown, otherwise: string): string {
  return cleanText(typeof given === 'string' ? given : otherwise).slice(0, 1000)
}

/** Counts the members and items of a schema: reading very many takes longer than in proportion. */
function partsOf(schema: unknown): number {
  let parts = 0
  JSON.stringify(schema, (_, part: unknown) => (parts++, part))
  return parts
}

/** Returns the category. An upstream's annotations are mere claims: they never make a tool less than a write. */
function categoryOf({ annotations }: UpstreamTool): ToolCategory {
  return annotations?.['destructiveHint'] === true ? 'privileged' : 'write'
}

/** Drops upstream tools whose names are taken already. */
export function withoutDoubles(tools: readonly Tool[]): readonly Tool[] {
  return [...new Map([...tools].reverse().map((tool) => [tool.name, tool])).values()].reverse()
}
