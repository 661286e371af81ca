/** Reads the site's own tools: `config/tools/*.yaml`, `config/sources.yaml` and the modules in `tools/`. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../../core/errors.ts'
import { compileSchema, nearest, pathText, type Problem, schemaProblems } from '../../core/schema.ts'
import { checkDocument } from '../../site/check-document.ts'
import type { Fault, SiteFiles, SourceDocument } from '../../site/site-files.ts'
import type { People } from '../../users/people.ts'
import { defineTool, type Tool } from '../tool.ts'
import {
  type HttpDefinition,
  httpToolSchema,
  type Source,
  sourcesSchema,
  type SqlDefinition,
  sqlToolSchema,
  type UpstreamDefinition,
  upstreamSchema,
} from './own-schema.ts'
import { placeholders } from './templates.ts'

const checks = {
  http: compileSchema(httpToolSchema),
  sql: compileSchema(sqlToolSchema),
  mcp: compileSchema(upstreamSchema),
}
const checkSources = compileSchema(sourcesSchema)

/** The site's own tools before any of them is connected to anything. */
export interface OwnDefinitions {
  /** Where `*_file` paths that are not absolute begin. */
  readonly folder: string
  readonly http: readonly HttpDefinition[]
  readonly sql: readonly SqlDefinition[]
  readonly upstreams: readonly UpstreamDefinition[]
  readonly sources: Readonly<Record<string, Source>>
  /** Tools of modules: complete already. */
  readonly modules: readonly Tool[]
  /** The names that are known now, and what the names of upstreams' tools begin with. */
  readonly names: readonly string[]
}

/** Reads everything and runs the site's modules; every fault is collected. */
export async function readOwnTools(
  files: SiteFiles,
  faults: Fault[],
  people: People,
): Promise<OwnDefinitions> {
  const sources = readSources(files, faults)
  const http: HttpDefinition[] = []
  const sql: SqlDefinition[] = []
  const upstreams: UpstreamDefinition[] = []
  // Known by name, so that a fault in a tool's own file is not told again wherever the tool is named.
  const broken: string[] = []
  for (const [path, document] of files.documents) {
    if (!path.startsWith('config/tools/')) continue
    const { type, tool } = (document.data ?? {}) as { type?: unknown; tool?: unknown }
    const before = faults.length
    if (type === 'http') take(http, checkHttp)
    else if (type === 'sql') take(sql, checkSql)
    else if (type === 'mcp') take(upstreams, checkUpstream)
    else
      faults.push(
        document.fault(['type'], `must be "http", "sql" or "mcp", not ${JSON.stringify(type) ?? 'nothing'}`),
      )
    if (faults.length > before && typeof tool === 'string') broken.push(tool)

    function take<T>(list: T[], check: (definition: T) => void): void {
      const definition = checkDocument<T>(document, checks[type as keyof typeof checks], faults)
      if (!definition) return
      check(definition)
      list.push(definition)
    }
    function checkHttp(definition: HttpDefinition): void {
      checkCommon(definition, document)
      const used = [definition.url, ...Object.values(definition.query ?? {})].flatMap(placeholders)
      checkArguments(used, definition.input, ['url'], document)
    }
    function checkSql(definition: SqlDefinition): void {
      checkCommon(definition, document)
      if (!Object.hasOwn(sources, definition.source))
        faults.push(document.fault(['source'], unknown('source', definition.source, Object.keys(sources))))
      checkArguments(sqlNames(definition.sql), definition.input, ['sql'], document)
    }
    function checkUpstream(definition: UpstreamDefinition): void {
      checkRoles(definition.roles, ['roles'], document)
      for (const [name, tool] of Object.entries(definition.tools ?? {}))
        checkRoles(tool.roles, ['tools', name, 'roles'], document)
      if ((definition.url === undefined) === (definition.command === undefined))
        faults.push(document.fault([], 'an upstream has either a url or a command'))
    }
  }
  const modules = await readModules(files, faults)
  return {
    folder: files.folder,
    http,
    sql,
    upstreams,
    sources,
    modules,
    names: [
      ...[...http, ...sql].map((definition) => definition.tool),
      ...modules.map((tool) => tool.name),
      ...upstreams.map((definition) => `${prefixOf(definition)}*`),
      ...broken.filter((name) => ![...http, ...sql].some((definition) => definition.tool === name)),
    ],
  }

  function checkCommon({ input, roles }: HttpDefinition | SqlDefinition, document: SourceDocument): void {
    checkRoles(roles, ['roles'], document)
    const problem = inputProblem(input)
    if (problem !== undefined) faults.push(document.fault(['input', ...problem.path], problem.message))
    const { properties, required } = input as { properties?: object; required?: unknown }
    // JSON Schema allows it, and nobody means it: a model would have to guess what to give.
    for (const [index, name] of (Array.isArray(required) ? required : []).map(String).entries())
      if (!Object.hasOwn(properties ?? {}, name))
        faults.push(
          document.fault(
            ['input', 'required', index],
            unknown('argument', name, Object.keys(properties ?? {})),
          ),
        )
  }
  function checkRoles(
    roles: readonly string[] | undefined,
    path: readonly (string | number)[],
    document: SourceDocument,
  ): void {
    for (const [index, role] of (roles ?? []).entries())
      if (!people.roles.has(role))
        faults.push(document.fault([...path, index], unknown('role', role, people.roles.keys())))
  }
  function checkArguments(
    used: readonly string[],
    input: Readonly<Record<string, unknown>>,
    path: readonly string[],
    document: SourceDocument,
  ): void {
    const known = Object.keys((input['properties'] as object | undefined) ?? {})
    for (const name of used)
      if (!known.includes(name)) faults.push(document.fault(path, unknown('argument', name, known)))
  }
}

/** What the names of an upstream's tools begin with. */
export function prefixOf({ prefix, upstream }: UpstreamDefinition): string {
  return prefix ?? `${upstream.toLowerCase().replace(/[^a-z0-9]+/g, '')}_`
}

/** The `$name`s of a statement, outside of texts and comments. */
export function sqlNames(sql: string): string[] {
  const bare = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\//g, ' ')
  return [...new Set([...bare.matchAll(/\$([A-Za-z_]\w*)/g)].map((match) => match[1]!))]
}

function readSources(files: SiteFiles, faults: Fault[]): Readonly<Record<string, Source>> {
  const document = files.documents.get('config/sources.yaml')
  const data = document && checkDocument<{ sources: Record<string, Source> }>(document, checkSources, faults)
  return data?.sources ?? {}
}

/** What is wrong with a schema as the input of a tool. */
export function inputProblem(input: Readonly<Record<string, unknown>>): Problem | undefined {
  if (input['type'] !== 'object')
    return { path: [], message: 'the input of a tool is a schema with "type: object"' }
  const [wrong] = schemaProblems(input)
  if (wrong) return wrong
  try {
    compileSchema({ ...input })
    return undefined
  } catch (error) {
    return { path: [], message: messageOf(error) }
  }
}

/**
 * Runs `tools/*.ts` of the site. A module exports `tools({ defineTool })`, which answers tools like the
 * program's own; it is the operator's code and runs in the daemon.
 */
async function readModules(files: SiteFiles, faults: Fault[]): Promise<Tool[]> {
  const tools: Tool[] = []
  for (const [path, bytes] of files.assets) {
    if (!/^tools\/[^/]+\.(ts|js|mjs)$/.test(path)) continue
    const fault = (message: string) => faults.push({ file: path, line: 1, column: 1, path: '', message })
    try {
      // The hash makes a changed module a new one.
      const version = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
      const module = (await import(`${pathToFileURL(join(files.folder, path)).href}?v=${version}`)) as {
        tools?: (kit: { defineTool: typeof defineTool }) => readonly Tool[]
      }
      if (typeof module.tools !== 'function') fault('must export a function "tools" that answers tools')
      else
        for (const tool of module.tools({ defineTool })) {
          const problem = toolProblem(tool)
          if (problem === undefined) tools.push(tool)
          else fault(problem)
        }
    } catch (error) {
      fault(`cannot be run: ${messageOf(error)}`)
    }
  }
  return tools
}

function toolProblem(tool: Partial<Tool> | undefined): string | undefined {
  const name = tool?.name
  if (typeof name !== 'string' || !/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(name))
    return `"${String(name)}" is no name for a tool`
  if (typeof tool!.description !== 'string' || tool!.description.length < 20)
    return `${name}: needs a description of at least 20 characters`
  if (!['read_only', 'write', 'read_write', 'privileged'].includes(String(tool!.category)))
    return `${name}: needs a category`
  if (typeof tool!.title !== 'string' || typeof tool!.run !== 'function')
    return `${name}: needs a title and a function run`
  const problem = inputProblem(tool!.input ?? {})
  return problem && `${name}: ${pathText(['input', ...problem.path])}: ${problem.message}`
}

function unknown(kind: string, name: string, candidates: Iterable<string>): string {
  const near = nearest(name, candidates)
  return `unknown ${kind} "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`
}
