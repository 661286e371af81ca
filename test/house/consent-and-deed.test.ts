/** Scopes × roles × limits × powers: what consent says of a client is what its token does, in every cell. */
import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { effectNames, type EffectName } from '../../src/core/effects.ts'
import type { Powers } from '../../src/core/powers.ts'
import { type Principal, principalFor } from '../../src/core/principal.ts'
import { baseOf } from '../../src/oauth/acting.ts'
import { Stop } from '#leaf/stop.ts'
import { pages } from '../../src/pages/pages.ts'
import { folders, mcpPath, runService, type RunningService } from '../cli/running-service.ts'

const scopeSets = [
  ['all'],
  ['openid'],
  ['profile'],
  ['email'],
  ['openid', 'profile', 'email'],
  ['all', 'openid', 'profile', 'email'],
] as const

const limits = {
  open: '',
  lists: 'tools: [list_documents]',
  writes: 'tools: [list_documents, create_document, write_prompts]',
  tries: 'tools: ["get_*", preview_prompts, run_workflow]',
  sales: 'roles: [Assistant User, Sales User]',
  nothing: 'tools: []',
} as const

const users = [
  ['plain@example.com', 'Assistant User'],
  ['buyer@example.com', 'Assistant User, Purchase User'],
  ['boss@example.com', 'Assistant User, Sales Manager'],
  ['hrboss@example.com', 'Assistant User, HR Manager'],
  ['auditor@example.com', 'Assistant User, Auditor'],
  ['keeper@example.com', 'Assistant User, Assistant Admin'],
] as const

const library = '/api/method/assistant_core.assistant_core.doctype.prompt_template.prompt_template.'
const removed =
  '  # false removes these limits (tests, benchmarks). Guessing passwords is slowed down regardless.\n  enabled: '

/** How each effect is tried: a request that is refused as forbidden, or not, before it changes anything. */
const tries: Readonly<Record<EffectName, readonly [path: string, body?: object][]>> = {
  use_library: [
    [`${library}search_prompts`, {}],
    [`${library}get_popular_prompts`, {}],
    [`${library}get_category_tree`, {}],
    [`${library}get_prompts_by_category`, { category: 'data-analysis' }],
    [`${library}get_version_history`, { prompt_id: 'sales_analysis' }],
  ],
  preview_prompts: [[`${library}preview_template`, { template_content: 'x', rendering_engine: 'Raw' }]],
  write_prompts: [
    [`${library}restore_version`, { prompt_id: 'there_is_none', version: 1 }],
    [`${library}create_version`, { prompt_id: 'there_is_none' }],
    [`${library}duplicate_as_private`, { prompt_id: 'there_is_none' }],
  ],
  manage_access: [[pages.account.path], [pages.connectedApps.path], [`${pages.account.path}/key-create`, {}]],
  read_log: [[pages.audit.path]],
  administer: [[pages.adminPeople.path], [`${pages.adminPeople.path}/cut-off`, { id: 'x' }]],
  manage_people: [[`${pages.adminPeople.path}/invite`, { id: 'x' }]],
  edit_site: [[`${pages.adminFiles.path}/save`, {}]],
}

async function start(t: TestContext): Promise<RunningService> {
  const where = folders(t, [[`${removed}true`, `${removed}false`]])
  const entries = Object.entries(limits).filter(([, limit]) => limit !== '')
  writeFileSync(
    join(where.site, 'config/clients.yaml'),
    `limits:\n${entries.map(([name, limit]) => `  - clients: [${name}]\n    ${limit}`).join('\n')}\n`,
  )
  appendFileSync(
    join(where.site, 'config/users.yaml'),
    users
      .map(([id, roles]) => `  - { email: ${id}, full_name: x, roles: [${roles}], assistant_enabled: 1 }\n`)
      .join(''),
  )
  return await runService(t, where)
}

/** True when a token does this, whatever comes of it. */
async function does({ url }: RunningService, token: string, path: string, body?: object): Promise<boolean> {
  const response = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body && {
        'content-type': path.startsWith('/api') ? 'application/json' : 'application/x-www-form-urlencoded',
      }),
    },
    ...(body && {
      body: path.startsWith('/api') ? JSON.stringify(body) : new URLSearchParams(body as never),
    }),
  })
  const text = await response.text()
  if (path.startsWith('/api')) return response.status !== 403
  return response.status === 200 && !text.includes('name="password"')
}

async function toolsOf({ url }: RunningService, token: string): Promise<readonly string[]> {
  const response = await fetch(url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
  const { result } = (await response.json()) as {
    result: { tools: { title: string; annotations?: { title: string } }[] }
  }
  return result.tools.map((tool) => tool.title ?? tool.annotations!.title)
}

describe('consent', () => {
  it('names every tool and every other power that a token has, and no other, whatever its scopes', async (t) => {
    const service = await start(t)
    const { services } = service.daemon
    let cells = 0
    let had = 0
    for (const user of services.people().users.values()) {
      for (const client of Object.keys(limits))
        for (const readOnly of [false, true])
          for (const scopes of scopeSets) {
            const name = `${user.id} ${client} ${scopes.join(' ')}${readOnly ? ' reading' : ''}`
            const told = services.powers(user.id, { id: client, name: client }, { readOnly })
            const issued = await services.tokens.issue({
              user: user.id,
              client,
              clientName: client,
              scopes,
              resource: 'urn:assistant-core:this-server',
              ...(readOnly && { readOnly }),
            })
            const token = issued.accessToken
            if (!told) {
              assert.equal(await does(service, token, `${library}search_prompts`, {}), false, name)
              continue
            }
            assert.deepEqual([...(await toolsOf(service, token))].sort(), [...told.tools].sort(), name)
            for (const effect of effectNames)
              for (const [path, body] of tries[effect]) {
                const isSaid = told.effects.includes(effect)
                assert.equal(await does(service, token, path, body), isSaid, `${name}: ${effect} by ${path}`)
                cells++
                had += isSaid ? 1 : 0
              }
          }
    }
    assert.ok(cells > 5000 && had > 1000, `${cells} cells, ${had} of them with the power`)
    t.diagnostic(`${cells} cells of powers that are no tools, ${had} of them had`)
  })

  it('names the doctypes that tools read, make and delete for a token, and no other', async (t) => {
    const { daemon } = await start(t)
    const { services } = daemon
    const { catalogue, platform } = services.site.current()
    let cells = 0
    const call = async (principal: Principal, tool: string, args: object): Promise<string> => {
      const never = (): never => assert.fail()
      const caller = {
        stop: new Stop(),
        library: never as never,
        progress: () => undefined,
        log: () => undefined,
      }
      const outcome = await catalogue.call(principal, tool, args, {
        ...caller,
        ask: never,
        confirm: () => Promise.resolve(undefined),
      })
      return outcome.isError ? outcome.text : ''
    }
    const isRefusal =
      /permission denied|not available|do not allow|may not|cannot|no doctype|not found|there is no|unknown doctype/
    for (const user of services.people().users.values())
      for (const client of Object.keys(limits))
        for (const readOnly of [false, true]) {
          const told = services.powers(user.id, { id: client, name: client }, { readOnly })
          if (!told) continue
          const base = { ...principalFor(user, 'r'), ...baseOf(user, services.clientLimits(client)) }
          const own: Principal = {
            ...base,
            client: { id: client, name: client },
            ...(readOnly && { readOnly: true }),
          }
          const tools = new Set(catalogue.offered(own).map(({ tool }) => tool.name))
          for (const { name: doctype, child } of platform.doctypes.values()) {
            if (child) continue
            for (const scopes of scopeSets) {
              const principal = { ...own, scopes }
              const at = `${user.id} ${client} ${scopes.join(' ')}${readOnly ? ' reading' : ''}: ${doctype}`
              const read = await call(principal, 'list_documents', { doctype, limit: 1 })
              if (tools.has('list_documents'))
                assert.equal(read === '', told.read.includes(doctype), `${at} ${read}`)
              else assert.match(read, isRefusal)
              const made = await call(principal, 'create_document', {
                doctype,
                data: {},
                validate_only: true,
              })
              assert.equal(!isRefusal.test(made), told.create.includes(doctype), `${at} create ${made}`)
              const gone = await call(principal, 'delete_document', {
                doctype,
                name: 'there is none',
                dry_run: true,
              })
              if (!told.delete.includes(doctype)) assert.match(gone, isRefusal, `${at} delete ${gone}`)
              cells += 3
            }
          }
        }
    assert.ok(cells > 5000, String(cells))
    t.diagnostic(`${cells} cells of documents`)
  })

  it('of a limited client, of one that may write prompts, and of an API key says what each may', async (t) => {
    const { daemon } = await start(t)
    const told = daemon.services.powers('sales@example.com', { id: 'lists', name: 'x' }, {})!
    assert.deepEqual(told.effects, ['use_library'])
    const writes = daemon.services.powers('sales@example.com', { id: 'writes', name: 'x' }, {})!
    assert.deepEqual(writes.effects, ['use_library', 'write_prompts'])
    const key: Powers = daemon.services.powers('sales@example.com', undefined, {})!
    assert.deepEqual(key.effects, ['use_library', 'preview_prompts', 'write_prompts'])
  })
})
