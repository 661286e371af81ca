/** Answers in the words of one revision: fields that its clients do not know are left out, content they cannot show is degraded. */
import { toolIcons } from '../core/icons.ts'
import type { Settings } from '../core/settings.ts'
import type { OfferedTool } from '../tools/catalogue.ts'
import type { Content, Tool } from '../tools/tool.ts'
import type { Call } from './call.ts'
import { showsViews, viewMeta } from './host-views.ts'
import type { Json } from './json-rpc.ts'
import type { Revision } from './revisions.ts'

/** How long a modern client may keep a list or a resource without asking again. */
const ttlMs = 60_000

/** A complete result as the revision wants it. `caching` is for the answers that a client may keep. */
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
    // Everything here depends on the user: never `public`.
    ...(caching && { ttlMs, cacheScope: 'private' }),
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo, ...(result['_meta'] as Json | undefined) },
  }
}

/** Who this server is: `serverInfo` of the handshake and of every modern result. */
export function serverInfoOf(revision: Revision, settings: Settings, version: string): Json {
  const { name, display_name } = settings.server
  return { name, ...(revision.titles && { title: display_name }), version }
}

/** A tool as `tools/list` shows it. */
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
    inputSchema: tool.input,
    ...(outputSchema && { outputSchema }),
    ...(revision.annotations && { annotations }),
    ...(revision.icons && { icons: toolIcons(publicUrl, annotations) }),
    ...(showsViews(call) && viewMeta(offered)),
  }
}

/** The shape in which clients get a tool's answers structured; undefined where they do not. */
export function structureOf(
  revision: Revision,
  { mcp }: Settings,
  { output, largeOutput }: Tool,
): Tool['output'] {
  if (!revision.titles) return undefined
  return output ?? (mcp.structured_results === 'all' ? largeOutput : undefined)
}

/** A prompt as `prompts/list` shows it. Its title is the specification's own (§4.5), so every revision has it. */
export function shapePrompt(revision: Revision, prompt: Json): Json {
  return revision.titles ? { ...prompt } : without(prompt, '_meta')
}

/** A resource or a resource template as its list shows it. */
export function shapeResource(revision: Revision, entry: Json): Json {
  return revision.titles ? { ...entry } : without(entry, 'title', '_meta', 'size')
}

/** Content blocks that the revision's clients know. */
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
