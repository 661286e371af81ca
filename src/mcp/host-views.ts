/**
 * MCP Apps (SEP-1865, `io.modelcontextprotocol/ui`): what a host that declares it shows beside the answers of some tools.
 * A view is a page without data; what it shows is the answer of the call, which has passed the gate.
 */
import type { OfferedTool } from '../tools/catalogue.ts'
import type { HostView } from '../tools/tool.ts'
import type { Call, HostViews } from './call.ts'
import { isObject, type Json } from './json-rpc.ts'

/** The extension's name, in the capabilities of both sides. */
export const viewsExtension = 'io.modelcontextprotocol/ui'
/** The only media type of its pages so far. */
const viewType = 'text/html;profile=mcp-app'
/** What a client says that shows them, and what it is told. */
export const viewsCapability = { mimeTypes: [viewType] }
/** Where a view finds the calls that wait, in `_meta` of an answer. */
const waitingKey = 'assistant-core/waiting-calls'
const scheme = 'ui://assistant-core/'

const descriptions: Readonly<Record<HostView, readonly [title: string, description: string]>> = {
  chart: ['Chart', 'A chart and its numbers'],
  dashboards: ['Dashboards', 'The dashboards of the user, or the charts of one'],
  approvals: ['Approvals', 'What waits for a decision of the user, and where to decide'],
}

/** Whether the host of this very call shows views. */
export function showsViews(call: Pick<Call, 'capabilities'>): boolean {
  return declaresViews(call.capabilities() ?? {})
}

/** Whether these capabilities of a client have the extension, for the kind of page that there is. */
export function declaresViews({ extensions }: Json): boolean {
  const declared = isObject(extensions) ? extensions[viewsExtension] : undefined
  const types = isObject(declared) ? declared['mimeTypes'] : undefined
  return Array.isArray(types) && types.includes(viewType)
}

/** The view of a tool's answers: its own; for what a person must allow, the one that leads there. */
function viewOf({ tool, confirm }: OfferedTool): HostView | undefined {
  return tool.view ?? (confirm === 'never' ? undefined : 'approvals')
}

/** What the definition of a tool says of its view. No view calls a tool, so hosts are told to let none. */
export function viewMeta(offered: OfferedTool): Json {
  const view = viewOf(offered)
  return view ? { _meta: { ui: { resourceUri: scheme + view, visibility: ['model'] } } } : {}
}

/** What the answer of a tool says to a view that the host shows: the calls of the same client that wait for the user. */
export async function answerMeta(call: Call, offered: OfferedTool | string, views: HostViews): Promise<Json> {
  if (typeof offered === 'string' || viewOf(offered) !== 'approvals') return {}
  const { user, client } = call.principal
  const waiting = (await views.waitingFor(user)).filter((one) => one.client?.id === client?.id)
  return { _meta: { [waitingKey]: waiting.map((one) => views.about(one)) } }
}

/** The views of the tools that the principal may call, as resources; none for a host that does not show them. */
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

/** The page of a view; undefined where `viewResources` has none of that URI. */
export function readView(call: Call, uri: string, views: HostViews): Json | undefined {
  if (!uri.startsWith(scheme)) return undefined
  const found = viewResources(call).find((entry) => entry['uri'] === uri)
  if (!found) return undefined
  // Nothing is loaded from anywhere: the page is whole.
  const csp = { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] }
  const text = views.html(String(found['name']))
  return { uri, mimeType: viewType, text, _meta: { ui: { csp, prefersBorder: true } } }
}
