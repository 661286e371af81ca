/** Calls of tools over the wire, as somebody's AI client makes them. */
import assert from 'node:assert/strict'
import type { RunningDaemon } from './daemon.ts'

/** Calls a tool as a user. */
export async function callerOf(
  daemon: Pick<RunningDaemon, 'url' | 'cli'>,
  user: string,
): Promise<(name: string, args: object) => Promise<unknown>> {
  const issued = (await daemon.cli(['tokens', 'issue', '--user', user, '--json'])).stdout
  const { access_token } = JSON.parse(issued) as { access_token: string }
  return async (name, args) => {
    const response = await fetch(`${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    })
    const { result } = (await response.json()) as {
      result: { isError: boolean; content: { text: string }[] }
    }
    assert.equal(result?.isError, false, JSON.stringify(result))
    return JSON.parse(result.content[0]!.text)
  }
}
