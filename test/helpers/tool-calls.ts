/** Calls of tools over the wire, as somebody's AI client makes them. */
import assert from 'node:assert/strict'
import { paths } from '../../src/oauth/urls.ts'
import type { RunningDaemon } from './daemon.ts'

/** An access token for a user. */
export async function tokenOf(
  daemon: Pick<RunningDaemon, 'cli'>,
  user: string,
  ...more: readonly string[]
): Promise<string> {
  const issued = await daemon.cli(['tokens', 'issue', '--user', user, '--json', ...more])
  assert.equal(issued.code, 0, issued.stderr)
  return (JSON.parse(issued.stdout) as { access_token: string }).access_token
}

/** Calls a tool by a token. */
export function callTool(
  { url }: { readonly url: string },
  token: string,
  name: string,
  args: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url + paths.mcp, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
}

/** Calls a tool, and answers all that comes back. */
export async function textOfCall(...asked: Parameters<typeof callTool>): Promise<string> {
  return await (await callTool(...asked)).text()
}

/** Returns how a user calls tools, each of which must do what it is asked, and answers what it says. */
export async function sayingOf(
  daemon: Pick<RunningDaemon, 'url' | 'cli'>,
  user: string,
): Promise<(name: string, args: object) => Promise<string>> {
  const token = await tokenOf(daemon, user)
  return async (name, args) => {
    const text = await textOfCall(daemon, token, name, args)
    const { result } = JSON.parse(text) as { result?: { isError: boolean; content: { text: string }[] } }
    assert.equal(result?.isError, false, `${name}: ${text}`)
    return result.content[0]!.text
  }
}

/** Returns how a user calls tools that answer JSON. */
export async function callerOf(
  ...whose: Parameters<typeof sayingOf>
): Promise<(name: string, args: object) => Promise<any>> {
  const saying = await sayingOf(...whose)
  return async (name, args) => JSON.parse(await saying(name, args))
}
