/**
 * Copies of the documents of well-known clients, of one day: name, redirect URIs, logo and how the client proves itself.
 * Used when the document itself cannot be fetched, so that no network stands between these clients and a sign-in.
 */
import type { Settings } from '../../core/settings.ts'

/** A copy of the documents at an address, in which `{id}` stands for any one name. */
interface DocumentCopy {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uris: readonly string[]
  readonly logo_uri?: string
  readonly token_endpoint_auth_method?: 'private_key_jwt'
  readonly jwks_uri?: string
}

const openaiLogo = 'https://persistent.oaistatic.com/sonic/misc/openai-logo.png'
const chatgpt = {
  client_name: 'ChatGPT',
  logo_uri: openaiLogo,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
} as const

/** The day on which the copies were made. */
export const copiedOn = '2026-09-21'

/** The copies, the most requested first. */
export const knownDocuments: readonly DocumentCopy[] = [
  {
    client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
    client_name: 'Claude Code',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  },
  {
    client_id: 'https://chatgpt.com/oauth/codex/client.json',
    client_name: 'Codex',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    logo_uri: openaiLogo,
  },
  {
    client_id: 'https://vscode.dev/oauth/client-metadata.json',
    client_name: 'Visual Studio Code',
    redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    logo_uri: 'https://code.visualstudio.com/assets/branding/code-stable.png',
  },
  {
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    client_name: 'Claude',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
  },
  {
    client_id: 'https://chatgpt.com/oauth/client.json',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    ...chatgpt,
  },
  {
    client_id: 'https://zed.dev/oauth/client-metadata.json',
    client_name: 'Zed',
    redirect_uris: ['http://127.0.0.1/callback'],
    logo_uri: 'https://cdn.zed.dev/images/logo-dark.png',
  },
  {
    client_id: 'https://opencode.ai/oauth/opencode/client.json',
    client_name: 'opencode',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    logo_uri: 'https://opencode.ai/web-app-manifest-512x512.png',
  },
  {
    client_id: 'https://goose-docs.ai/oauth/client-metadata.json',
    client_name: 'goose',
    redirect_uris: ['http://127.0.0.1/oauth_callback', 'http://[::1]/oauth_callback'],
    logo_uri: 'https://goose-docs.ai/img/logo_light.png',
  },
  // These clients have one document for each server they talk to, named by what the client makes of the server's address.
  {
    client_id: 'https://chatgpt.com/oauth/codex/{id}/client.json',
    client_name: 'Codex',
    redirect_uris: ['http://127.0.0.1/callback/{id}', 'http://localhost/callback/{id}'],
    logo_uri: openaiLogo,
  },
  {
    client_id: 'https://chatgpt.com/oauth/{id}/client.json',
    redirect_uris: ['https://chatgpt.com/connector/oauth/{id}'],
    ...chatgpt,
  },
]

/** Returns the copy of the document at a URL, as its body; the site's own copies go first. */
export function copyOf(
  url: string,
  own: Settings['oauth']['client_documents'],
): { body: unknown; from: string } | undefined {
  for (const [copies, from] of [
    [own, 'oauth.client_documents in the settings'],
    [knownDocuments, `the copy of ${copiedOn} that came with this program`],
  ] as const) {
    for (const copy of copies) {
      const id = idIn(url, copy.client_id)
      if (id === undefined) continue
      const redirects = copy.redirect_uris.map((uri) => uri.replaceAll('{id}', id))
      return { body: { ...copy, client_id: url, redirect_uris: redirects }, from }
    }
  }
  return undefined
}

/** Returns what stands for `{id}` in a URL of that form, nothing where the form has none; undefined for another URL. */
function idIn(url: string, form: string): string | undefined {
  const [before = '', after] = form.split('{id}')
  if (after === undefined) return url === form ? '' : undefined
  const id = url.slice(before.length, url.length - after.length)
  return url === before + id + after && /^[A-Za-z0-9_-]{1,100}$/.test(id) ? id : undefined
}
