/** What a client learns first: `initialize` in the legacy revisions, `server/discover` in the modern ones. */
import { serviceIcons } from '../core/icons.ts'
import type { Call, McpDeps, Reply } from './call.ts'
import { declaresViews, showsViews, viewsCapability, viewsExtension } from './host-views.ts'
import { errorCodes, isObject, JsonRpcError, objectParam, textParam } from './json-rpc.ts'
import { legacyRevision, modernRevisions, preferred } from './revisions.ts'
import { mintSession } from './session.ts'
import { serverInfoOf } from './shape.ts'
import { tasksExtension } from './task-methods.ts'

const skillsExtension = { 'io.modelcontextprotocol/skills': { directoryRead: true } }
const viewsSupport = { [viewsExtension]: viewsCapability }
/** Some clients keep no more than the first 512 characters; the important part comes first. */
const maxInstructions = 4000

/** The handshake: the client's version if it is a legacy one that we speak, else 2025-06-18 (specification §9.1). */
export function initialize(
  call: Call,
  { key, version, publicUrl }: Pick<McpDeps, 'key' | 'version' | 'publicUrl'>,
): Reply {
  const requested = textParam(call.params, 'protocolVersion')
  const revision = legacyRevision(requested) ?? preferred
  const capabilities = objectParam(call.params, 'capabilities')
  if (call.params['clientInfo'] !== undefined && !isObject(call.params['clientInfo'])) {
    throw new JsonRpcError(errorCodes.invalidParams, 'params.clientInfo: must be an object')
  }
  const { settings } = call.snapshot
  call.channel.header(
    'Mcp-Session-Id',
    call.principal.sessionId ?? mintSession(key, call.principal, revision, capabilities),
  )
  const listChanged = settings.mcp.legacy_streams
  return {
    protocolVersion: revision.name,
    capabilities: {
      tools: listChanged ? { listChanged } : {},
      prompts: listChanged ? { listChanged } : {},
      resources: listChanged ? { listChanged, subscribe: true } : {},
      ...(revision.annotations && { completions: {} }),
      logging: {},
      extensions: { ...skillsExtension, ...(declaresViews(capabilities) && viewsSupport) },
    },
    serverInfo: {
      ...serverInfoOf(revision, settings, version),
      ...(revision.icons && { icons: serviceIcons(publicUrl()) }),
    },
    instructions: instructionsOf(call),
  }
}

/** What the server can do, for clients that need no handshake. */
export function discover(call: Call, { version, publicUrl }: Pick<McpDeps, 'version' | 'publicUrl'>): Reply {
  const { settings } = call.snapshot
  const serverInfo = { ...serverInfoOf(call.revision, settings, version), icons: serviceIcons(publicUrl()) }
  return {
    // Only what may be named in `_meta`: a legacy version there is refused.
    supportedVersions: modernRevisions.map(({ name }) => name),
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      extensions: { ...skillsExtension, [tasksExtension]: {}, ...(showsViews(call) && viewsSupport) },
    },
    instructions: instructionsOf(call),
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  }
}

/** The site's own words, then which skill to read when: models pass skills by unless they are told. */
function instructionsOf({ snapshot, principal }: Call): string {
  const { settings, library, catalogue } = snapshot
  const own =
    settings.mcp.instructions ??
    `${settings.server.display_name} gives access to business data with the permissions of the signed-in user.`
  const skills = library.skills(principal)
  if (skills.length === 0) return own
  const offers = (name: string): boolean => typeof catalogue.find(principal, name) !== 'string'
  const how = offers('read_skill')
    ? 'Read a skill before you start a task that it covers: call read_skill with its name, or read the resource skill://NAME/SKILL.md.'
    : 'Read a skill before you start a task that it covers: read the resource skill://NAME/SKILL.md.'
  let text = `${own}\n\n${how} Skills:`
  for (const { name, description } of skills) {
    const line = `\n- ${name}: ${description}`
    if (text.length + line.length > maxInstructions) {
      return `${text}\n- and more: ${offers('list_skills') ? 'call list_skills' : 'list the resources'}`
    }
    text += line
  }
  return text
}
