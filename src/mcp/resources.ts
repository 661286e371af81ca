/**
 * Serves skills as MCP resources: `skill://<name>/SKILL.md` and the files beside it, byte for byte as on disk; and the
 * legacy subscriptions to single resources.
 */
import { type Audit, eventOf } from '#audit/audit.ts'
import type { Skill, SkillFile } from '../library/words.ts'
import type { Call, HostViews, Reply } from './call.ts'
import { readView, viewResources } from './host-views.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import { errorCodes, type Json, JsonRpcError, textParam } from './json-rpc.ts'
import type { Pages } from './lists.ts'
import { shapeResource } from './shape.ts'
import { skillFileAt, skillScheme } from './skills.ts'
import type { Subscriptions } from './streams/subscriptions.ts'

/** The URI template of a skill's file, the only template. */
export const skillTemplate = 'skill://{name}/{+path}'

/** Lists the resources that this principal may read. */
export function listResources(call: Call, { listPages }: { readonly listPages: Pages }): Reply {
  const { library } = call.snapshot
  const views = viewResources(call)
  return listPages.page(call, {
    field: 'resources',
    digest: `${library.skillsDigest(call.principal)}\n${views.map(({ name }) => name).join()}`,
    items: () => [...library.skills(call.principal).map(skillEntry), ...views],
    keyOf: ({ uri }) => String(uri),
    shape: (entry) => shapeResource(call.revision, entry),
  })
}

/** Lists the URI templates of resources that are not listed one by one. */
export function listTemplates(call: Call, { listPages }: { readonly listPages: Pages }): Reply {
  const { library } = call.snapshot
  const entry = {
    uriTemplate: skillTemplate,
    name: 'skill-file',
    title: 'A file of a skill',
    description: 'SKILL.md of a skill, or a file that it refers to',
  }
  return listPages.page(call, {
    field: 'resourceTemplates',
    digest: library.skillsDigest(call.principal),
    items: () => (library.skills(call.principal).length === 0 ? [] : [entry]),
    keyOf: ({ uriTemplate }) => uriTemplate,
    shape: (template) => shapeResource(call.revision, template),
  })
}

/** Reads the bytes of one resource; each reading is counted and audited. */
export async function readResource(
  call: Call,
  { audit, views }: { readonly audit: Audit; readonly views: HostViews },
): Promise<Reply> {
  const uri = textParam(call.params, 'uri')
  const view = readView(call, uri, views)
  if (view) return { contents: [view] }
  const { library } = call.snapshot
  const found = skillFileAt(library, call.principal, uri)
  if (!found) throw noResource(call, uri)
  const { skill, file } = found
  // Only reading SKILL.md counts as reading the skill.
  if (file === skill.files[0]) await library.countSkillRead(skill.name)
  const target = file.uri.slice(skillScheme.length)
  void audit.record(eventOf(call.principal, { type: 'skill.read', status: 'ok', target })).catch(() => {})
  return { contents: contentsOf(file) }
}

/** Subscribes a legacy conversation to changes of a resource, which it hears of while it holds a stream open. */
export function subscribe(call: Call, { subscriptions }: { readonly subscriptions: Subscriptions }): Reply {
  const uri = textParam(call.params, 'uri')
  const { library, settings } = call.snapshot
  // Without streams, a yes that no notification follows would be worse than a no.
  if (!settings.mcp.legacy_streams)
    throw new JsonRpcError(errorCodes.methodNotFound, 'resources/subscribe is switched off here')
  if (!skillFileAt(library, call.principal, uri)) throw noResource(call, uri)
  if (!subscriptions.watch(call.principal, uri))
    throw new JsonRpcError(call.revision.applicationError, 'too many subscriptions of this conversation')
  return {}
}

/** Ends a legacy subscription (`resources/subscribe`). */
export function unsubscribe(call: Call, { subscriptions }: { readonly subscriptions: Subscriptions }): Reply {
  subscriptions.unwatch(call.principal, textParam(call.params, 'uri'))
  return {}
}

// Files live as long as their reading of the site, so each is serialised once.
const contents = new WeakMap<SkillFile, WrittenJson>()

/** Returns text only where the bytes are valid UTF-8: digests are over the bytes, which must come out again. */
function contentsOf(file: SkillFile): WrittenJson {
  let known = contents.get(file)
  if (!known) {
    const bytes = Buffer.from(file.bytes.buffer, file.bytes.byteOffset, file.bytes.byteLength)
    const body = file.text ? { text: bytes.toString('utf8') } : { blob: bytes.toString('base64') }
    const text = JSON.stringify([{ uri: file.uri, mimeType: file.mimeType, ...body }])
    contents.set(file, (known = new WrittenJson(text, () => JSON.parse(text) as unknown)))
  }
  return known
}

function skillEntry(skill: Skill): Json {
  const file = skill.files[0]!
  return {
    uri: file.uri,
    name: skill.name,
    title: skill.title,
    description: skill.description,
    mimeType: 'text/markdown',
    size: file.bytes.byteLength,
    annotations: { audience: ['assistant'], priority: 0.8 },
  }
}

function noResource(call: Call, uri: string): JsonRpcError {
  const message = `no resource ${JSON.stringify(uri)} for this user`
  return new JsonRpcError(call.revision.resourceNotFound, message, { data: { uri } })
}
