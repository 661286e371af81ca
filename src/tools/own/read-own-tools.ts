/** Reads the site's own tools: `config/tools/*.yaml`, `config/sources.yaml` and the modules in `tools/`. */
import { placeIn } from '#leaf/places.ts'
import { unknownName } from '#leaf/names.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { pathText } from '#leaf/schema.ts'
import { checkDocument, checkReferences, type NameSet, statementFault } from '#site/checking.ts'
import { documentsIn, type Fault, fileFault, type SiteFiles, type SourceDocument } from '#site/site-files.ts'
import { readSources, sourcesFile, type Sources } from '../../settings/sources.ts'
import type { People } from '../../users/people.ts'
import type { Tool } from '../tool.ts'
import {
  checkHttp,
  checkSql,
  checkUpstream,
  type Definition,
  type DefinitionProblem,
  inputProblems,
} from './check-definitions.ts'
import {
  type HttpDefinition,
  httpToolSchema,
  type SqlDefinition,
  sqlToolSchema,
  type UpstreamDefinition,
  upstreamSchema,
} from './own-schema.ts'
import { portable } from '#leaf/portable-schema.ts'

/** A module of the site, known by its text. */
export interface OwnModule {
  readonly key: string
  readonly tools: readonly Tool[]
  /** The reason why it has no tools, where that does not keep the site from use. */
  readonly trouble?: Fault
}

/** Runs a module of the site, or returns its faults. */
export type RunModule = (file: string) => Promise<OwnModule | readonly Fault[]>

/** The site's own tools before any of them is connected to anything. */
export interface OwnDefinitions {
  /** The folder in which children of the daemon start. */
  readonly folder: string
  readonly http: readonly HttpDefinition[]
  readonly sql: readonly SqlDefinition[]
  readonly upstreams: readonly UpstreamDefinition[]
  readonly sources: Sources
  /** Started already. */
  readonly modules: readonly OwnModule[]
  /** The file that names databases. */
  readonly sourcesDocument: SourceDocument | undefined
  /** The file of each definition. */
  readonly documents: ReadonlyMap<Definition, SourceDocument>
  /** The place of each tool's name. */
  readonly places: ReadonlyMap<string, Fault>
  /** The names that are known now, and the prefixes of the names of upstreams' tools. */
  readonly names: readonly string[]
}

/** Reads everything and runs the site's modules; collects every fault. */
export async function readOwnTools(
  files: SiteFiles,
  { faults, warnings }: Pick<Taking, 'faults' | 'warnings'>,
  people: People,
  builtIn: Iterable<string>,
  run: RunModule,
): Promise<OwnDefinitions> {
  const sources = readSources(files, faults)
  const places = new Map<string, Fault>()
  const taking: Taking = {
    faults,
    warnings,
    names: { role: people.roles, source: new Map(Object.entries(sources)) },
    documents: new Map(),
    places,
    claim: claims(places, new Set(builtIn), faults),
  }
  const http: HttpDefinition[] = []
  const sql: SqlDefinition[] = []
  const upstreams: UpstreamDefinition[] = []
  // Known by name, so that a fault in a tool's own file is not reported again wherever the tool is named.
  const broken: string[] = []
  for (const document of documentsIn(files, 'config/tools/')) {
    const { type, tool } = (document.data ?? {}) as { type?: unknown; tool?: unknown }
    const before = faults.length
    if (type === 'http') take(document, httpToolSchema, http, checkHttp, taking)
    else if (type === 'sql') take(document, sqlToolSchema, sql, (one) => checkSql(one, sources), taking)
    else if (type === 'mcp') take(document, upstreamSchema, upstreams, checkUpstream, taking)
    else
      faults.push(
        document.fault(['type'], `must be "http", "sql" or "mcp", not ${JSON.stringify(type) ?? 'nothing'}`),
      )
    if (faults.length > before && typeof tool === 'string') broken.push(tool)
  }
  const modules = await readModules(files, taking, people, run)
  return {
    folder: files.folder,
    http,
    sql,
    upstreams,
    sources,
    sourcesDocument: files.documents.get(sourcesFile),
    modules,
    documents: taking.documents,
    places,
    names: [
      ...new Set([...[...http, ...sql].map(({ tool }) => tool), ...broken]),
      ...modules.flatMap(({ tools }) => tools.map(({ name }) => name)),
      ...upstreams.map((definition) => `${prefixOf(definition)}*`),
    ],
  }
}

/** The state of reading the definitions. */
interface Taking {
  readonly faults: Fault[]
  readonly warnings: Fault[]
  /** The names that definitions may refer to. */
  readonly names: Readonly<Record<string, NameSet>>
  readonly documents: Map<Definition, SourceDocument>
  readonly places: Map<string, Fault>
  /** Claims a name; two tools with one name are a fault, since a call would mean either. */
  readonly claim: (name: string, here: Fault) => void
}

function claims(places: Map<string, Fault>, builtIn: ReadonlySet<string>, faults: Fault[]): Taking['claim'] {
  return (name, here) => {
    const other = builtIn.has(name)
      ? 'built in'
      : places.has(name) && `already given in ${places.get(name)!.file}`
    if (other === false) places.set(name, here)
    else faults.push({ ...here, message: `"${name}" is ${other}; choose another name` })
  }
}

function take<T extends Definition>(
  document: SourceDocument,
  schema: Readonly<Record<string, unknown>>,
  list: T[],
  checkFurther: (definition: T) => Iterable<DefinitionProblem>,
  { faults, warnings, names, documents, places, claim }: Taking,
): void {
  const definition = checkDocument<T>(document, fileSchema(schema), faults)
  if (!definition) return
  checkReferences(document, schema, names, faults)
  for (const { path, message, isWarning, at } of checkFurther(definition)) {
    const fault = path[0] === 'sql' ? statementFault(document, message) : document.fault(path, message, at)
    ;(isWarning ? warnings : faults).push(fault)
  }
  if ('tool' in definition) claim(definition.tool, document.fault(['tool'], ''))
  else {
    const name = `${prefixOf(definition)}*`
    const other = places.get(name)?.file
    if (other !== undefined)
      warnings.push(
        document.fault(['upstream'], `its tools are "${name}" as those of ${other}, which go before its own`),
      )
    else places.set(name, document.fault(['upstream'], ''))
  }
  documents.set(definition, document)
  list.push(definition)
}

/** Returns the prefix of the names of an upstream's tools. */
export function prefixOf({ prefix, upstream }: UpstreamDefinition): string {
  return prefix ?? `${upstream.toLowerCase().replace(/[^a-z0-9]+/g, '')}_`
}

/**
 * Runs the modules in `tools/` of the site. A module exports `tools({ defineTool })`, which returns tools like the
 * program's own; it is the operator's code and runs beside the daemon.
 */
async function readModules(
  files: SiteFiles,
  { faults, warnings, claim }: Taking,
  people: People,
  run: RunModule,
): Promise<OwnModule[]> {
  const paths = [...files.assets.keys()].filter(
    (path) => /^tools\/[^/]+\.m?[jt]s$/.test(path) && !path.endsWith('.d.ts'),
  )
  // In parallel: each has a process to start.
  const found = await Promise.all(paths.map(run))
  const told = (fault: Fault): Fault => ({ ...fault, message: `cannot be run: ${fault.message}` })
  return found.flatMap((module, index) => {
    if (!('tools' in module)) {
      faults.push(...module.map(told))
      return []
    }
    if (module.trouble) warnings.push(told(module.trouble))
    const tools = module.tools.filter((tool) => {
      const problem = toolProblem(tool, people)
      const here = placeOfName(paths[index]!, files.assets.get(paths[index]!)!, tool.name, problem)
      if (problem === undefined) claim(tool.name, here)
      else faults.push(here)
      for (const key of Object.keys(tool))
        if (!toolKeys.includes(key))
          warnings.push({ ...here, message: `${tool.name}: ${unknownName('key', key, toolKeys)}` })
      for (const { path, message } of problem === undefined ? portable(tool.input).changed : [])
        warnings.push({ ...here, message: `${tool.name}: ${pathText(['input', ...path])}: ${message}` })
      return problem === undefined
    })
    return [{ ...module, tools }]
  })
}

/** Returns the place in a module of a tool's name; the start of the file when the name is computed. */
function placeOfName(file: string, bytes: Uint8Array, name: string, message = ''): Fault {
  const text = Buffer.from(bytes).toString('utf8')
  const at = ["'", '"', '`'].map((quote) => text.indexOf(quote + name + quote)).find((index) => index >= 0)
  return { ...fileFault(file, message), ...placeIn(text, at ?? 0) }
}

/** The keys that a tool of a module may have. */
const toolKeys =
  'name title description category computes input output largeOutput example timeout onlyAsTask idempotent openWorld roles run'.split(
    ' ',
  )

function toolProblem(tool: Partial<Tool>, people: People): string | undefined {
  const { name, title, description, category, input, roles = [], run } = tool
  if (typeof name !== 'string' || !/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(name))
    return `"${String(name)}" is no name for a tool`
  if (typeof description !== 'string' || description.length < 20)
    return `${name}: needs a description of at least 20 characters`
  if (!['read_only', 'write', 'read_write', 'privileged'].includes(String(category)))
    return `${name}: needs a category`
  if (typeof title !== 'string' || typeof run !== 'function')
    return `${name}: needs a title and a function run`
  if (!Array.isArray(roles)) return `${name}: roles: must be a list`
  const role = roles.map(String).find((one) => !people.roles.has(one))
  if (role !== undefined) return `${name}: roles: ${unknownName('role', role, people.roles.keys())}`
  const problem = [...inputProblems(input ?? {})].find(({ isWarning }) => !isWarning)
  return problem && `${name}: ${pathText(['input', ...problem.path])}: ${problem.message}`
}
