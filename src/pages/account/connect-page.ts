/** The page that tells how to connect each AI client to this server: exact steps, and the file for Claude Desktop. */
import type { Needs } from '../../control/operation.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLocal } from '#leaf/address.ts'
import { version } from '../../core/version.ts'
import { answerDownload } from '#ui/requests.ts'
import { zipOf } from '#leaf/zip.ts'
import { resourceOf } from '../../oauth/urls.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import type { OwnPage } from '../own-page.ts'
import { pages } from '../pages.ts'
import type { Showing } from '../route-page.ts'

/** The dependencies of the page. */
export type ConnectDeps = UserPageDeps & Needs<'settings'>

/** A way to connect one client: its name, the text to type, and the link to click; a message of its name has the steps. */
interface Way {
  readonly id: string
  readonly name: string
  readonly text?: string
  readonly href?: string
  /** True when it connects from the client's own cloud, and so only to public addresses. */
  readonly fromOutside?: true
}

/** Makes the page. */
export function connectPage(deps: ConnectDeps): OwnPage {
  return {
    script: true,
    show: () => {
      const url = resourceOf(deps.publicUrl())
      const isPublic = url.startsWith('https:') && !isLocal(new URL(url).hostname)
      return Promise.resolve({ url, isPublic, ways: waysTo(url, deps.settings().server.name) })
    },
    deeds: {},
  }
}

function waysTo(url: string, name: string): readonly Way[] {
  const encoded = Buffer.from(JSON.stringify({ url })).toString('base64')
  const code = { name, type: 'http', url }
  return [
    { id: 'claude_code', name: 'Claude Code', text: `claude mcp add --transport http ${name} ${url}` },
    { id: 'claude_desktop', name: 'Claude Desktop', href: pages.bundle.path },
    { id: 'claude', name: 'Claude', text: url, fromOutside: true },
    { id: 'chatgpt', name: 'ChatGPT', text: url, fromOutside: true },
    {
      id: 'cursor',
      name: 'Cursor',
      text: JSON.stringify({ mcpServers: { [name]: { url } } }, null, 2),
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=${name}&config=${encodeURIComponent(encoded)}`,
    },
    {
      id: 'vscode',
      name: 'VS Code',
      text: JSON.stringify({ servers: { [name]: { type: 'http', url } } }, null, 2),
      href: `vscode:mcp/install?${encodeURIComponent(JSON.stringify(code))}`,
    },
    { id: 'stdio', name: 'stdio', text: `npx mcp-remote ${url}` },
  ]
}

/** Answers GET with a bundle for Claude Desktop; it asks for an API key and reaches servers that no cloud can reach. */
export function bundleEndpoint(deps: ConnectDeps): Showing<'users'> {
  const bridge = readFileSync(join(import.meta.dirname, '../views', 'stdio-bridge.mjs'))
  const icon = readFileSync(join(import.meta.dirname, '../views', 'icons', 'server.png'))
  return (ctx) => {
    const { server } = deps.settings()
    const manifest = {
      manifest_version: '0.3',
      name: server.name,
      display_name: server.display_name,
      version,
      description: `Connects Claude Desktop with ${server.display_name}.`,
      author: { name: server.display_name },
      icon: 'icon.png',
      server: {
        type: 'node',
        entry_point: 'server/bridge.mjs',
        mcp_config: {
          command: 'node',
          args: ['${__dirname}/server/bridge.mjs'],
          env: { MCP_URL: resourceOf(deps.publicUrl()), MCP_KEY: '${user_config.key}' },
        },
      },
      tools_generated: true,
      prompts_generated: true,
      user_config: {
        key: {
          type: 'string',
          title: 'API key',
          description: `Make one at ${deps.publicUrl()}${pages.account.path}; paste all that follows "Authorization: token".`,
          sensitive: true,
          required: true,
        },
      },
    }
    const files = {
      'manifest.json': JSON.stringify(manifest, null, 2),
      'server/bridge.mjs': bridge,
      'icon.png': icon,
    }
    answerDownload(ctx, 'assistant-core.mcpb', 'application/zip', zipOf(files))
    return Promise.resolve()
  }
}
