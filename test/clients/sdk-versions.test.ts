/**
 * The official SDK in the versions that programs out there were built with, each installed from the registry and driven its
 * whole way against a service without a way out: discovery, registration, sign-in, consent, lists, a call, a live edit,
 * expiry and revocation. The table in README.md is what this found.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { folders, mcpPath, runService, type RunningService } from '../cli/running-service.ts'
import { Browser, callback } from '../oauth/browser.ts'

const v1 = ['1.10.2', '1.13.3', '1.17.5', '1.20.2', '1.25.3', '1.32.2']
const v2 = ['2.4.0']
const password = 'a password for clients'
const user = 'sales@example.com'
const accessSeconds = 10

const folder = mkdtempSync(join(tmpdir(), 'sdk-versions-'))
const cleanup: (() => unknown)[] = []
let service: RunningService

/** What both lines of the SDK have in common, as far as it is used here. */
interface Sdk {
  readonly newClient: () => any
  readonly newTransport: (url: URL, options: object) => any
  readonly onPromptsChanged: (client: any, heard: () => void) => void
}

async function load(version: string): Promise<Sdk> {
  const { resolve } = createRequire(join(folder, 'index.js'))
  const module = (path: string): Promise<any> => import(pathToFileURL(resolve(path)).href)
  const name = `sdk-${version}`
  const info = { name, version }
  if (version.startsWith('2')) {
    const { Client, StreamableHTTPClientTransport } = await module(name)
    return {
      newClient: () => new Client(info),
      newTransport: (url, options) => new StreamableHTTPClientTransport(url, options),
      onPromptsChanged: (client, heard) =>
        client.setNotificationHandler('notifications/prompts/list_changed', heard),
    }
  }
  const { Client } = await module(`${name}/client/index.js`)
  const { StreamableHTTPClientTransport } = await module(`${name}/client/streamableHttp.js`)
  const { PromptListChangedNotificationSchema } = await module(`${name}/types.js`)
  return {
    newClient: () => new Client(info),
    newTransport: (url, options) => new StreamableHTTPClientTransport(url, options),
    onPromptsChanged: (client, heard) =>
      client.setNotificationHandler(PromptListChangedNotificationSchema, heard),
  }
}

/** What the SDK asks of a program that uses it, with a person who signs in and approves. */
function programOf(version: string) {
  const kept: Record<string, any> = {}
  const provider = {
    redirectUrl: callback,
    clientMetadata: {
      client_name: `SDK ${version}`,
      redirect_uris: [callback],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    clientInformation: () => kept['client'],
    saveClientInformation: (client: unknown) => void (kept['client'] = client),
    tokens: () => kept['tokens'],
    saveTokens: (tokens: unknown) => void (kept['tokens'] = tokens),
    saveCodeVerifier: (verifier: string) => void (kept['verifier'] = verifier),
    codeVerifier: () => kept['verifier'],
    redirectToAuthorization: async (url: URL) => {
      const browser = new Browser(service)
      const consent = await browser.submit(await browser.open(url.href), { username: user, password })
      const done = await browser.submit(consent, { decision: 'approve' })
      kept['answer'] = new URL(done.location!).searchParams
    },
  }
  return { provider, kept }
}

before(
  async () => {
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const packages = [
      ...v1.map((version) => `sdk-${version}@npm:@modelcontextprotocol/sdk@${version}`),
      ...v2.map((version) => `sdk-${version}@npm:@modelcontextprotocol/client@${version}`),
    ]
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error']
    await promisify(execFile)('npm', ['install', ...flags, ...packages], { cwd: folder })
    const t = { after: (undo: () => unknown) => void cleanup.push(undo) }
    service = await runService(
      t,
      folders(t, [['access_token_seconds: 3600', `access_token_seconds: ${accessSeconds}`]]),
    )
    await service.daemon.services.passwords.set(user, password)
  },
  { timeout: 300_000 },
)

after(async () => {
  for (const undo of cleanup.reverse()) await undo()
  rmSync(folder, { recursive: true, force: true })
})

describe('the official SDK', () => {
  for (const version of [...v1, ...v2])
    it(`${version} goes its whole way`, { timeout: 180_000 }, async () => {
      const sdk = await load(version)
      const { provider, kept } = programOf(version)
      const url = new URL(service.url + mcpPath)
      const first = sdk.newTransport(url, { authProvider: provider })
      await assert.rejects(sdk.newClient().connect(first), /Unauthorized/i)
      assert.ok(kept['client'].client_id, 'it registered itself: no document can be fetched')
      // The second argument is the issuer (RFC 9207), of which versions before 2 know nothing.
      await first.finishAuth(kept['answer'].get('code'), kept['answer'].get('iss'))
      const client = sdk.newClient()
      await client.connect(sdk.newTransport(url, { authProvider: provider }))

      const { tools } = await client.listTools()
      assert.ok(tools.some(({ name }: { name: string }) => name === 'list_documents'))
      const { prompts } = await client.listPrompts()
      assert.ok((await client.listResources()).resources.length > 0)
      const called = { name: 'list_documents', arguments: { doctype: 'Customer', limit: 1 } }
      assert.equal((await client.callTool(called)).isError, false)

      const heard = new Promise<void>((resolve) => sdk.onPromptsChanged(client, resolve))
      const name = `for-${version.replaceAll('.', '-')}`
      const text = `---\nprompt_id: ${name}\ntitle: ${name}\ndescription: An edit while clients are connected\nstatus: Published\nvisibility: Public\nrendering_engine: Raw\n---\nHello.\n`
      writeFileSync(join(service.site, 'prompts', `${name}.md`), text)
      await service.daemon.services.site.reload('test')
      await heard
      assert.equal((await client.listPrompts()).prompts.length, prompts.length + 1)

      const before = kept['tokens'].access_token
      await delay((accessSeconds + 1) * 1000)
      await client.listTools()
      assert.notEqual(kept['tokens'].access_token, before, 'it renewed its tokens')

      const families = await service.daemon.services.tokens.families({ user })
      const own = families.find((family) => family.client === kept['client'].client_id)!
      await service.daemon.services.tokens.revoke({ family: own.id }, 'a test')
      await assert.rejects(client.listTools(), /revoked|Unauthorized|invalid_token/i)
      await client.close().catch(() => undefined)
    })
})
