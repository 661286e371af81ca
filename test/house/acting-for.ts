/** What can act for a user: tokens, an API key, a link, a stream, a task, calls that run or wait. */
import assert from 'node:assert/strict'
import { Stop } from '#leaf/stop.ts'
import { operate } from '../../src/cli/control.ts'
import { principalFor } from '../../src/core/principal.ts'
import { mcpPath, type RunningService } from '../cli/running-service.ts'

async function asks(service: RunningService, authorization: string, body: object): Promise<Response> {
  return fetch(service.url + mcpPath, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
  })
}

/** Returns the status of a request with these credentials. */
export const ping = async (service: RunningService, authorization: string): Promise<number> =>
  (await asks(service, authorization, { method: 'ping' })).status

/** Gives a user everything that can act for them. */
export async function busy(service: RunningService, user: string) {
  const { services } = service.daemon
  const issue = async (): Promise<{ access_token: string; refresh_token: string }> =>
    (await operate(service.options, 'tokens.issue', { user })) as never
  const { access_token, refresh_token } = await issue()
  const key = (await operate(service.options, 'api_keys.create', { user })) as { authorization: string }
  const invited = (await operate(service.options, 'users.reset', { user })) as { url: string }
  const who = principalFor(services.people().find(user)!, 'r')
  const [offered] = services.site.current().catalogue.offered(who)
  const waiting = await services.suspended.request(who, offered!, { doctype: 'Item' }, {} as never)
  await services.suspended.decide(who, waiting.id, 'approve')
  const stop = new Stop()
  const task = await services.tasks.open(who, 'run_report', stop)
  const call = new Stop()
  const leave = services.running.add(who, 7, call)
  // A stream that an API key opened has no token by which it could be found.
  const opened = await asks(service, key.authorization, {
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  })
  const stream = await fetch(service.url + mcpPath, {
    headers: {
      authorization: key.authorization,
      accept: 'text/event-stream',
      'mcp-session-id': opened.headers.get('mcp-session-id')!,
    },
  })
  assert.equal(stream.status, 200)
  return { access_token, refresh_token, key, invited, who, stop, call, leave, task: task!, stream }
}
