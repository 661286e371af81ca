/** Reads the site's own tools: `config/tools/*.yaml`, `config/sources.yaml` and the modules in `tools/`. */
import { unknownName } from '../../core/names.ts'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { type Check, compileSchema, pathText, type Problem, schemaProblems } from '../../core/schema.ts'
import { checkDocument, checkNames } from '../../site/check-document.ts'
import {
  documentsIn,
  type Fault,
  fileFault,
  type SiteFiles,
  type SourceDocument,
} from '../../site/site-files.ts'
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
import { loadModule } from './load-module.ts'
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

/** Where definitions are checked: against what, and where faults go. */
interface Checking {
  readonly faults: Fault[]
  readonly people: People
  readonly sources: Readonly<Record<string, Source>>
  /** Takes a name; two tools of one name are a fault, since one of them would be nobody's. */
  readonly claim: (name: string, here: Fault) => void
}

/** Reads everything and runs the site's modules; every fault is collected. */
export async function readOwnTools(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  builtIn: Iterable<string>,
): Promise<OwnDefinitions> {
  const checking = { faults, people, sources: readSources(files, faults), claim: claims(builtIn, faults) }
  const http: HttpDefinition[] = []
  const sql: SqlDefinition[] = []
  const upstreams: UpstreamDefinition[] = []
  // Known by name, so that a fault in a tool's own file is not told again wherever the tool is named.
  const broken: string[] = []
  for (const document of documentsIn(files, 'config/tools/')) {
    const { type, tool } = (document.data ?? {}) as { type?: unknown; tool?: unknown }
    const before = faults.length
    if (type === 'http') take(document, checks.http, http, checkHttp, checking)
    else if (type === 'sql') take(document, checks.sql, sql, checkSql, checking)
    else if (type === 'mcp') take(document, checks.mcp, upstreams, checkUpstream, checking)
    else
      faults.push(
        document.fault(['type'], `must be "http", "sql" or "mcp", not ${JSON.stringify(type) ?? 'nothing'}`),
      )
    if (faults.length > before && typeof tool === 'string') broken.push(tool)
  }
  const modules = await readModules(files, faults, checking.claim)
  return {
    folder: files.folder,
    http,
    sql,
    upstreams,
    sources: checking.sources,
    modules,
    names: [
      ...[...http, ...sql].map((definition) => definition.tool),
      ...modules.map((tool) => tool.name),
      ...upstreams.map((definition) => `${prefixOf(definition)}*`),
      ...broken.filter((name) => ![...http, ...sql].some((definition) => definition.tool === name)),
    ],
  }
}

function claims(builtIn: Iterable<string>, faults: Fault[]): Checking['claim'] {
  const givenAt = new Map<string, string>([...builtIn].map((name) => [name, 'built in']))
  return (name, here) => {
    const other = givenAt.get(name)
    if (other === undefined) givenAt.set(name, `already given in ${here.file}`)
    else faults.push({ ...here, message: `"${name}" is ${other}; choose another name` })
  }
}

function take<T extends object>(
  document: SourceDocument,
  check: Check,
  list: T[],
  checkFurther: (definition: T, document: SourceDocument, checking: Checking) => void,
  checking: Checking,
): void {
  const definition = checkDocument<T>(document, check, checking.faults)
  if (!definition) return
  checkFurther(definition, document, checking)
  if ('tool' in definition) checking.claim(String(definition.tool), document.fault(['tool'], ''))
  list.push(definition)
}

function checkHttp(definition: HttpDefinition, document: SourceDocument, checking: Checking): void {
  checkCommon(definition, document, checking)
  const used = [definition.url, ...Object.values(definition.query ?? {})].flatMap(placeholders)
  checkArguments(used, definition.input, ['url'], document, checking)
}

function checkSql(definition: SqlDefinition, document: SourceDocument, checking: Checking): void {
  checkCommon(definition, document, checking)
  const sources = Object.keys(checking.sources)
  if (!sources.includes(definition.source))
    checking.faults.push(document.fault(['source'], unknownName('source', definition.source, sources)))
  checkArguments(sqlNames(definition.sql), definition.input, ['sql'], document, checking)
}

function checkUpstream(definition: UpstreamDefinition, document: SourceDocument, checking: Checking): void {
  checkNames(document, ['roles'], 'role', definition.roles, checking.people.roles, checking.faults)
  for (const [name, tool] of Object.entries(definition.tools ?? {}))
    checkNames(document, ['tools', name, 'roles'], 'role', tool.roles, checking.people.roles, checking.faults)
  if ((definition.url === undefined) === (definition.command === undefined))
    checking.faults.push(document.fault([], 'an upstream has either a url or a command'))
}

function checkCommon(
  { input, roles }: HttpDefinition | SqlDefinition,
  document: SourceDocument,
  checking: Checking,
): void {
  checkNames(document, ['roles'], 'role', roles, checking.people.roles, checking.faults)
  const problem = inputProblem(input)
  if (problem !== undefined) checking.faults.push(document.fault(['input', ...problem.path], problem.message))
  const required = input['required']
  // JSON Schema allows it, and nobody means it: a model would have to guess what to give.
  for (const [index, name] of (Array.isArray(required) ? required : []).map(String).entries())
    checkArguments([name], input, ['input', 'required', index], document, checking)
}

function checkArguments(
  used: readonly string[],
  input: Readonly<Record<string, unknown>>,
  path: readonly (string | number)[],
  document: SourceDocument,
  { faults }: Checking,
): void {
  const known = Object.keys((input['properties'] as object | undefined) ?? {})
  for (const name of used)
    if (!known.includes(name)) faults.push(document.fault(path, unknownName('argument', name, known)))
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
    compileSchema({ ...input })({})
    return undefined
  } catch (error) {
    return badPattern(input, []) ?? { path: [], message: messageOf(error) }
  }
}

/** The first regular expression of a schema that cannot be used. */
function badPattern(schema: unknown, path: readonly string[]): Problem | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  for (const [key, value] of Object.entries(schema)) {
    const inner = badPattern(value, [...path, key])
    if (inner) return inner
    if (key !== 'pattern' || typeof value !== 'string') continue
    try {
      RegExp(value, 'u')
    } catch (error) {
      const message = messageOf(error).replace(/^Invalid regular expression: /, '')
      return { path: [...path, key], message: `is not a usable pattern: ${message}` }
    }
  }
  return undefined
}

/**
 * Runs the modules in `tools/` of the site. A module exports `tools({ defineTool })`, which answers tools like the
 * program's own; it is the operator's code and runs in the daemon.
 */
async function readModules(
  files: SiteFiles,
  faults: Fault[],
  claim: (name: string, here: Fault) => void,
): Promise<Tool[]> {
  const tools: Tool[] = []
  for (const path of files.assets.keys()) {
    if (!/^tools\/[^/]+\.m?[jt]s$/.test(path) || path.endsWith('.d.ts')) continue
    const fault = (message: string) => faults.push(fileFault(path, message))
    try {
      const module = (await loadModule(join(files.folder, path))) as {
        tools?: (kit: { defineTool: typeof defineTool }) => readonly Tool[]
      }
      if (typeof module.tools !== 'function') fault('must export a function "tools" that answers tools')
      else
        for (const tool of module.tools({ defineTool })) {
          const problem = toolProblem(tool)
          if (problem === undefined) {
            claim(tool.name, fileFault(path, ''))
            tools.push(tool)
          } else fault(problem)
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
