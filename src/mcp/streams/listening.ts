/** Answers `subscriptions/listen` of the modern revisions: an event stream that reports changes until one side ends it. */
import type { Call } from '../call.ts'
import { errorCodes, JsonRpcError, objectParam } from '../json-rpc.ts'
import { type ListKind, type Subscriptions, tagged } from './subscriptions.ts'

const maxUris = 100

/** Acknowledges the subscribed notifications, then keeps the connection. */
export function listen(call: Call, { subscriptions }: { readonly subscriptions: Subscriptions }): undefined {
  const wanted = objectParam(call.params, 'notifications')
  const lists = (['tools', 'prompts', 'resources'] as const).filter(
    (kind: ListKind) => wanted[`${kind}ListChanged`] === true,
  )
  const uris = urisOf(wanted['resourceSubscriptions'])
  if (!call.channel.open) {
    throw new JsonRpcError(errorCodes.invalidRequest, 'subscriptions/listen needs Accept: text/event-stream')
  }
  if (!subscriptions.hasRoom(call.principal)) {
    throw new JsonRpcError(call.revision.applicationError, 'too many open streams for this user')
  }
  const honoured = {
    ...Object.fromEntries(lists.map((kind) => [`${kind}ListChanged`, true])),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  }
  call.channel.send({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: tagged({ notifications: honoured }, call.id),
  })
  subscriptions.listen(call.principal, call.channel, call.id, { kinds: lists, uris })
}

function urisOf(value: unknown): string[] {
  if (value === undefined) return []
  if (
    !Array.isArray(value) ||
    value.length > maxUris ||
    !value.every((uri): uri is string => typeof uri === 'string')
  ) {
    throw new JsonRpcError(
      errorCodes.invalidParams,
      `params.notifications.resourceSubscriptions: must be a list of at most ${maxUris} URIs`,
    )
  }
  return [...new Set(value)]
}
