/** `resources/list`, `resources/templates/list`, `resources/read`, and the legacy subscriptions to single resources. */
import { askingFor } from './asking.ts'
import { serverInfoOf } from './discovery.ts'
import type { ResourceProvider } from './extras.ts'
import type { Nouns, Reply } from './nouns.ts'
import { type Call, JsonRpcError, textParam } from './protocol.ts'
import { resourceProviders } from './providers.ts'
import { shapeResource } from './shape.ts'

/** The resources that this principal may read. */
export function listResources(call: Call, nouns: Nouns): Reply {
  const providers = resourceProviders(call.snapshot, nouns.deps)
  return nouns.pages.page(
    call,
    {
      field: 'resources',
      digest: digestOf(call, providers),
      items: () => providers.flatMap((provider) => provider.list(call.principal)),
      keyOf: ({ uri }) => uri,
      shape: (entry) => shapeResource(call.revision, entry),
    },
    serverInfoOf(call.revision, call.snapshot.settings, nouns.deps.version),
  )
}

/** The patterns of resources that are not listed one by one. */
export function listTemplates(call: Call, nouns: Nouns): Reply {
  const providers = resourceProviders(call.snapshot, nouns.deps)
  return nouns.pages.page(
    call,
    {
      field: 'resourceTemplates',
      digest: digestOf(call, providers),
      items: () => providers.flatMap((provider) => provider.templates(call.principal)),
      keyOf: ({ uriTemplate }) => uriTemplate,
      shape: (entry) => shapeResource(call.revision, entry),
    },
    serverInfoOf(call.revision, call.snapshot.settings, nouns.deps.version),
  )
}

/** The bytes of one resource. */
export async function readResource(call: Call, nouns: Nouns): Promise<Reply> {
  const uri = textParam(call.params, 'uri')
  const asking = askingFor(call, nouns.questions, nouns.rounds)
  try {
    for (const provider of resourceProviders(call.snapshot, nouns.deps)) {
      const contents = await provider.read(call.principal, uri, { signal: call.signal, ask: asking.ask })
      if (contents) return { contents }
    }
  } catch (error) {
    const interrupted = asking.interrupted()
    if (interrupted) return interrupted
    throw error
  }
  throw notFound(call, uri)
}

/** Legacy: tell this conversation when the resource changes, where it holds a stream open. */
export function subscribe(call: Call, nouns: Nouns): Reply {
  const uri = textParam(call.params, 'uri')
  const known = resourceProviders(call.snapshot, nouns.deps).some(
    (provider) => provider.version(call.principal, uri) !== undefined,
  )
  if (!known) throw notFound(call, uri)
  nouns.subscriptions.watch(call.principal, uri)
  return {}
}

/** Legacy: takes `resources/subscribe` back. */
export function unsubscribe(call: Call, nouns: Nouns): Reply {
  nouns.subscriptions.unwatch(call.principal, textParam(call.params, 'uri'))
  return {}
}

function digestOf(call: Call, providers: readonly ResourceProvider[]): string {
  return providers.map((provider) => provider.digest(call.principal)).join('\n')
}

function notFound(call: Call, uri: string): JsonRpcError {
  return new JsonRpcError(
    call.revision.resourceNotFound,
    `no resource ${JSON.stringify(uri)} for this user`,
    {
      data: { uri },
    },
  )
}
