/** How each AI client is connected to this server: exact steps, and the file that does it for Claude Desktop. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Middleware } from 'koa'
import type { Settings } from '../core/settings.ts'
import { isLocal } from '../core/address.ts'
import { version } from '../core/version.ts'
import { zipOf } from '../core/zip.ts'
import { paths, resourceOf } from '../oauth/urls.ts'
import { forUsers, type UserPageDeps } from './desk-endpoint.ts'
import type { OwnPage } from './own-page.ts'

/** What the page works with. */
export interface ConnectDeps extends UserPageDeps {
  readonly settings: () => Settings
}

/** One client: what it is called, what to type, and what to click; its steps are a message of its name. */
interface Way {
  readonly id: string
  readonly name: string
  readonly text?: string
  readonly href?: string
  /** Whether it comes from the client's own cloud, and so only to public addresses. */
  readonly fromOutside?: true
}

/** The file for Claude Desktop. */
const bundlePath = `${paths.connect}/assistant-core.mcpb`

/** The page. */
export function connectPage(deps: ConnectDeps): OwnPage {
  return {
    path: paths.connect,
    view: 'connect',
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
    { id: 'claude_desktop', name: 'Claude Desktop', href: bundlePath },
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

/** GET: a bundle that Claude Desktop installs; it asks for an API key and reaches servers that no cloud can reach. */
export function bundleEndpoint(deps: ConnectDeps): Middleware {
  const bridge = readFileSync(join(import.meta.dirname, 'views', 'stdio-bridge.mjs'))
  const icon = readFileSync(join(import.meta.dirname, 'views', 'icons', 'server.png'))
  return forUsers(deps, (ctx) => {
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
          description: `Make one at ${deps.publicUrl()}${paths.account}; paste all that follows "Authorization: token".`,
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
    ctx.status = 200
    ctx.type = 'application/zip'
    ctx.attachment('assistant-core.mcpb')
    ctx.body = zipOf(files)
    return Promise.resolve()
  })
}
