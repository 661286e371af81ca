/** Introduces the server to a client: `initialize` in the legacy revisions, `server/discover` in the modern ones. */
import { isoTime } from '#leaf/clock.ts'
import type { Principal } from '../core/principal.ts'
import { serviceIcons } from '../core/icons.ts'
import type { Call, Choices, McpDeps, Reply } from './call.ts'
import { declaresViews, showsViews, viewsCapability, viewsExtension } from './host-views.ts'
import { isObject } from '#leaf/as-json.ts'
import { errorCodes, JsonRpcError, objectParam, textParam } from './json-rpc.ts'
import { legacyRevision, modernRevisions, preferred } from './revisions.ts'
import { mintSession } from './session.ts'
import { serverInfoOf } from './shape.ts'
import { tasksExtension } from './waiting/task-methods.ts'

const skillsExtension = { 'io.modelcontextprotocol/skills': { directoryRead: true } }
const viewsSupport = { [viewsExtension]: viewsCapability }
/** The maximum length of instructions. Some clients keep only the first 512 characters, so the important part comes first. */
const maxInstructions = 4000

type Introducing = Pick<McpDeps, 'version' | 'publicUrl' | 'clock' | 'accounts'>

/** Answers the handshake with the client's version if it is a legacy one that we speak, else 2025-06-18 (specification §9.1). */
export async function initialize(
  call: Call,
  deps: Introducing & Pick<McpDeps, 'signingKey'>,
): Promise<Reply> {
  const { signingKey, version, publicUrl } = deps
  const requested = textParam(call.params, 'protocolVersion')
  const revision = legacyRevision(requested) ?? preferred
  const capabilities = objectParam(call.params, 'capabilities')
  if (call.params['clientInfo'] !== undefined && !isObject(call.params['clientInfo'])) {
    throw new JsonRpcError(errorCodes.invalidParams, 'params.clientInfo: must be an object')
  }
  const { settings } = call.snapshot
  call.channel.header(
    'Mcp-Session-Id',
    call.principal.sessionId ?? mintSession(signingKey, call.principal, revision, capabilities),
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
    instructions: await instructionsOf(call, deps),
  }
}

/** Answers with what the server can do, for clients that need no handshake. */
export async function discover(call: Call, deps: Introducing): Promise<Reply> {
  const { version, publicUrl } = deps
  const { settings } = call.snapshot
  const serverInfo = { ...serverInfoOf(call.revision, settings, version), icons: serviceIcons(publicUrl()) }
  return {
    // Only versions that `_meta` may name: a legacy version there is refused.
    supportedVersions: modernRevisions.map(({ name }) => name),
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      extensions: { ...skillsExtension, [tasksExtension]: {}, ...(showsViews(call) && viewsSupport) },
    },
    instructions: await instructionsOf(call, deps),
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  }
}

/** Names a language in English, as instructions are written. */
const languageNames = new Intl.DisplayNames(['en'], { type: 'language' })

interface Told {
  readonly now: number
  readonly choices: Choices
  readonly currency: string | null
  /** True where list_doctypes is offered, which tells all but the choices again. */
  readonly again: boolean
}

function callerLine({ user, fullName, roles }: Principal, { now, choices, currency, again }: Told): string {
  const { language, timezone } = choices
  const reads = language ? ` They read ${languageNames.of(language)}.` : ''
  const lives = timezone ? ` Their pages show times of ${timezone}.` : ''
  const amounts = currency === null ? '' : ` Amounts are in ${currency}.`
  return `You work for ${fullName} (${user}; roles: ${[...roles].sort().join(', ')}), who is "me" in filters. Today is ${isoTime(now).slice(0, 10)}; days and times are UTC.${amounts}${again ? ' list_doctypes tells this again.' : ''}${reads}${lives}`
}

/** Returns the site's own instructions as they are; or whom the model works for, and which skill to read when: models pass skills by unless told. */
async function instructionsOf(
  { snapshot, principal }: Call,
  { clock, accounts }: Introducing,
): Promise<string> {
  const { settings, library, catalogue } = snapshot
  if (settings.mcp.instructions !== null) return settings.mcp.instructions
  const offers = (name: string): boolean => typeof catalogue.find(principal, name) !== 'string'
  const choices = await accounts.of(principal.user)
  const { currency } = settings.documents
  const told = { now: clock.now(), choices, currency, again: offers('list_doctypes') }
  const own = `${settings.server.display_name} gives access to business data with the permissions of the signed-in user.\n\n${callerLine(principal, told)}${principal.narrowing ? ' This connection has only some of the tools, as its address or headers ask.' : ''}`
  const skills = library.skills(principal)
  if (skills.length === 0) return own
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
