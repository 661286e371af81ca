/** Shapes answers for one revision: fields that its clients do not know are left out, content they cannot show is degraded. */
import { toolIcons } from '../core/icons.ts'
import type { Settings } from '../core/settings.ts'
import type { OfferedTool } from '../tools/gate/catalogue.ts'
import type { Content, Tool } from '../tools/tool.ts'
import type { Call } from './call.ts'
import { showsViews, viewMeta } from './host-views.ts'
import type { Json } from './json-rpc.ts'
import type { Revision } from './revisions.ts'

/** Milliseconds that a modern client may cache a list or a resource. */
const ttlMs = 60_000

/** Returns a complete result in the shape of the revision. `caching` is for the answers that a client may cache. */
export function shapeResult(
  { revision, snapshot }: Pick<Call, 'revision' | 'snapshot'>,
  result: Json,
  version: string,
  caching: boolean,
): Json {
  if (!revision.envelope) return result
  const serverInfo = serverInfoOf(revision, snapshot.settings, version)
  return {
    resultType: 'complete',
    ...result,
    // Everything here depends on the user, so it is never `public`.
    ...(caching && { ttlMs, cacheScope: 'private' }),
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo, ...(result['_meta'] as Json | undefined) },
  }
}

/** Returns `serverInfo`, for the handshake and every modern result. */
export function serverInfoOf(revision: Revision, settings: Settings, version: string): Json {
  const { name, display_name } = settings.server
  return { name, ...(revision.titles && { title: display_name }), version }
}

/** Returns a tool as `tools/list` shows it. */
export function shapeTool(
  call: Pick<Call, 'revision' | 'snapshot' | 'capabilities'>,
  offered: OfferedTool,
  description: string,
  publicUrl: string,
): Json {
  const { revision, snapshot } = call
  const { tool, annotations } = offered
  const outputSchema = structureOf(revision, snapshot.settings, tool)
  return {
    name: tool.name,
    ...(revision.titles && { title: tool.title }),
    description,
    inputSchema: offered.listedInput,
    ...(outputSchema && { outputSchema }),
    ...(revision.annotations && { annotations }),
    ...(revision.icons && { icons: toolIcons(publicUrl, annotations) }),
    ...(showsViews(call) && viewMeta(offered)),
  }
}

/** Returns the schema of a tool's structured answers; undefined where clients do not get them structured. */
export function structureOf(
  revision: Revision,
  { mcp }: Settings,
  { output, largeOutput }: Tool,
): Tool['output'] {
  if (!revision.titles) return undefined
  return output ?? (mcp.structured_results === 'all' ? largeOutput : undefined)
}

/** Returns a prompt as `prompts/list` shows it. Every revision has the title, which is the specification's own (§4.5). */
export function shapePrompt(revision: Revision, prompt: Json): Json {
  return revision.titles ? { ...prompt } : without(prompt, '_meta')
}

/** Returns a resource or a resource template as its list shows it. */
export function shapeResource(revision: Revision, entry: Json): Json {
  return revision.titles ? { ...entry } : without(entry, 'title', '_meta', 'size')
}

/** Returns content blocks that the revision's clients know. */
export function shapeContent(revision: Revision, blocks: readonly Content[]): Content[] {
  return blocks.map((block) => (revision.content.has(block.type) ? block : degraded(block)))
}

function degraded(block: Content): Content {
  switch (block.type) {
    case 'resource_link':
      return { type: 'text', text: [block.name, block.description, block.uri].filter(Boolean).join(': ') }
    case 'audio':
      return {
        type: 'resource',
        resource: { uri: 'data:,audio', mimeType: block.mimeType, blob: block.data },
      }
    default:
      return block
  }
}

function without(entry: Json, ...names: string[]): Json {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !names.includes(name)))
}
