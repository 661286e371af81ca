/**
 * MCP Apps (SEP-1865, `io.modelcontextprotocol/ui`): views that a host which declares them shows beside the answers of
 * some tools. A view is a page without data; it shows the answer of the call, which has passed the gate.
 */
import type { OfferedTool } from '../tools/gate/catalogue.ts'
import type { HostView } from '../tools/tool.ts'
import type { Call, HostViews } from './call.ts'
import { isObject } from '#leaf/as-json.ts'
import { type Json } from './json-rpc.ts'

/** The extension's name, in the capabilities of both sides. */
export const viewsExtension = 'io.modelcontextprotocol/ui'
/** The only media type of view pages so far. */
const viewType = 'text/html;profile=mcp-app'
/** The capability that a client declares to show views, and that the server declares back. */
export const viewsCapability = { mimeTypes: [viewType] }
/** The key in `_meta` of an answer under which a view finds the waiting calls. */
const waitingKey = 'assistant-core/waiting-calls'
const scheme = 'ui://assistant-core/'

const descriptions: Readonly<Record<HostView, readonly [title: string, description: string]>> = {
  chart: ['Chart', 'A chart and its numbers'],
  dashboards: ['Dashboards', 'The dashboards of the user, or the charts of one'],
  approvals: ['Approvals', 'What waits for a decision of the user, and where to decide'],
}

/** True when the host of this very call shows views. */
export function showsViews(call: Pick<Call, 'capabilities'>): boolean {
  return declaresViews(call.capabilities() ?? {})
}

/** True when these capabilities of a client include the extension, with the media type of our pages. */
export function declaresViews({ extensions }: Json): boolean {
  const declared = isObject(extensions) ? extensions[viewsExtension] : undefined
  const types = isObject(declared) ? declared['mimeTypes'] : undefined
  return Array.isArray(types) && types.includes(viewType)
}

/** Returns the view of a tool's answers: its own, or, for a tool that a person must allow, the view of approvals. */
function viewOf({ tool, confirm }: OfferedTool): HostView | undefined {
  return tool.view ?? (confirm === 'never' ? undefined : 'approvals')
}

/** Returns the view in a tool's definition. No view calls a tool, so hosts are told to allow none. */
export function viewMeta(offered: OfferedTool): Json {
  const view = viewOf(offered)
  return view ? { _meta: { ui: { resourceUri: scheme + view, visibility: ['model'] } } } : {}
}

/** Returns the `_meta` of an answer for a view that the host shows: the calls of the same client that wait for the user. */
export async function answerMeta(call: Call, offered: OfferedTool | string, views: HostViews): Promise<Json> {
  if (typeof offered === 'string' || viewOf(offered) !== 'approvals') return {}
  const { user, client } = call.principal
  const waiting = (await views.waitingFor(user)).filter((one) => one.client?.id === client?.id)
  return { _meta: { [waitingKey]: waiting.map((one) => views.about(one)) } }
}

/** Returns the views of the tools that the principal may call, as resources; none for a host that does not show views. */
export function viewResources(call: Call): Json[] {
  if (!showsViews(call)) return []
  const used = new Set(call.snapshot.catalogue.offered(call.principal).map(viewOf))
  return (Object.keys(descriptions) as HostView[])
    .filter((view) => used.has(view))
    .map((view) => {
      const [title, description] = descriptions[view]
      return { uri: scheme + view, name: view, title, description, mimeType: viewType }
    })
}

/** Returns the page of a view; undefined where `viewResources` has none of that URI. */
export function readView(call: Call, uri: string, views: HostViews): Json | undefined {
  if (!uri.startsWith(scheme)) return undefined
  const found = viewResources(call).find((entry) => entry['uri'] === uri)
  if (!found) return undefined
  // The page is complete, so nothing is loaded from anywhere.
  const csp = { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] }
  const text = views.html(String(found['name']))
  return { uri, mimeType: viewType, text, _meta: { ui: { csp, prefersBorder: true } } }
}
