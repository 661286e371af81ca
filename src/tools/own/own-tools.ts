import type { Pool } from 'pg'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { traceparentOf } from '../../core/trace-context.ts'
import { type Content, idempotencyKey, type Tool, type ToolCategory } from '../tool.ts'
import { httpTool } from './http-tool.ts'
import type { UpstreamDefinition } from './own-schema.ts'
import { inputProblem, type OwnDefinitions, prefixOf } from './read-own-tools.ts'
import { Upstream, type UpstreamTool } from './upstream.ts'

/** How long a reading of the site waits for an upstream to list its tools. */
const connectMilliseconds = 10_000

/** The connections of the site's own tools; they outlive snapshots that do not change them. */
export class OwnTools {
  readonly #log: Log
  readonly #version: string
  readonly #pools = new Map<string, Pool>()
  readonly #upstreams = new Map<string, Upstream>()

  constructor(log: Log, version: string) {
    this.#log = log
    this.#version = version
  }

  /** The tools of a reading of the site. An upstream that does not answer is told in the log, and has no tools until the next reading. */
  async open(definitions: OwnDefinitions): Promise<readonly Tool[]> {
    const { folder, http, sql, upstreams, modules } = definitions
    const upstreamTools = await Promise.all(
      upstreams.map((definition) => this.#upstreamTools(definition, folder)),
    )
    const tools = [
      ...http.map((definition) => httpTool(definition, folder)),
      ...(sql.length === 0 ? [] : await this.#sqlTools(definitions)),
      ...modules,
      ...upstreamTools.flat(),
    ]
    this.#closeUnused(definitions)
    return tools
  }

  async close(): Promise<void> {
    for (const upstream of this.#upstreams.values()) upstream.close()
    this.#upstreams.clear()
    await Promise.all([...this.#pools.values()].map((pool) => pool.end()))
    this.#pools.clear()
  }

  async #sqlTools({ folder, sql, sources }: OwnDefinitions): Promise<Tool[]> {
    // Few sites ask databases, and most starts need no driver.
    const { openPool, sqlTool } = await import('./sql-tool.ts')
    return sql.map((definition) => {
      const source = sources[definition.source]!
      const key = keyOf(source, folder)
      let pool = this.#pools.get(key)
      if (!pool) {
        pool = openPool(source, folder, (error) =>
          this.#log.warn('a connection of a SQL tool broke', { error }),
        )
        this.#pools.set(key, pool)
      }
      return sqlTool(definition, source, pool)
    })
  }

  async #upstreamTools(definition: UpstreamDefinition, folder: string): Promise<readonly Tool[]> {
    const key = keyOf(definition, folder)
    let upstream = this.#upstreams.get(key)
    if (!upstream) {
      upstream = new Upstream(definition, folder, this.#version)
      this.#upstreams.set(key, upstream)
    }
    try {
      const listed = await upstream.listTools(AbortSignal.timeout(connectMilliseconds))
      return listed.flatMap((tool) => this.#passedOn(definition, upstream, tool))
    } catch (error) {
      const reason = messageOf(error)
      this.#log.warn('the tools of an upstream server are not offered', {
        upstream: definition.upstream,
        reason,
      })
      return []
    }
  }

  #passedOn(definition: UpstreamDefinition, upstream: Upstream, listed: UpstreamTool): Tool[] {
    const rules = definition.tools?.[listed.name]
    const name = prefixOf(definition) + listed.name
    // Upstreams name older dialects of JSON Schema for what is the same in all of them.
    const { $schema: _, ...input } = listed.inputSchema
    const problem = inputProblem(input)?.message
    if (rules?.enabled === false) return []
    if (problem !== undefined || !/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(name)) {
      this.#log.warn('a tool of an upstream server cannot be offered', { tool: name, problem })
      return []
    }
    const roles = rules?.roles ?? definition.roles
    const tool: Tool = {
      name,
      title: listed.title ?? listed.name,
      description: (listed.description ?? `The tool ${listed.name} of ${definition.upstream}.`).slice(
        0,
        1000,
      ),
      category: rules?.category ?? definition.category ?? categoryOf(listed),
      input,
      openWorld: true,
      ...(definition.timeout_seconds !== undefined && { timeout: definition.timeout_seconds * 1000 }),
      ...(roles && { roles }),
      run: async (args, { signal, principal: { trace }, repeatable }) => {
        const result = await upstream.callTool(listed.name, args, signal, {
          ...(trace && { traceparent: traceparentOf(trace) }),
          ...(repeatable && { [idempotencyKey]: repeatable.id }),
        })
        return richOf(result.content ?? [], result.structuredContent, result.isError ?? false)
      },
    }
    return [tool]
  }

  #closeUnused({ folder, upstreams, sql, sources }: OwnDefinitions): void {
    const used = new Set([
      ...upstreams.map((definition) => keyOf(definition, folder)),
      ...sql.map((definition) => keyOf(sources[definition.source], folder)),
    ])
    for (const [key, upstream] of this.#upstreams)
      if (!used.has(key)) {
        upstream.close()
        this.#upstreams.delete(key)
      }
    for (const [key, pool] of this.#pools)
      if (!used.has(key)) {
        // Waits for the statements of the snapshot before.
        pool.end().catch((error: unknown) => this.#log.warn('a pool was not closed', { error }))
        this.#pools.delete(key)
      }
  }
}

/** The first text becomes the text of the answer; what else there is follows. */
function richOf(content: readonly Content[], structured: unknown, isError: boolean): unknown {
  const texts = content.filter((block) => block.type === 'text').map((block) => block.text)
  const others = content.filter((block) => block.type !== 'text')
  const data = texts.length > 0 ? texts.join('\n') : structured
  return { kind: 'rich', ...(data !== undefined && { data }), content: others, isError }
}

/** What an upstream says of its tools is a claim: it never makes one less than a write. */
function categoryOf({ annotations }: UpstreamTool): ToolCategory {
  return annotations?.['destructiveHint'] === true ? 'privileged' : 'write'
}

function keyOf(value: unknown, folder: string): string {
  return JSON.stringify([value, folder])
}
