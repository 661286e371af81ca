/** Reading prompts and skills is no power that settings name: the visibility of each decides (specification §5.6). */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import type { Fault } from '#site/site-files.ts'
import { folders, mcpPath, runService } from '../cli/running-service.ts'

const prompt = (id: string, visibility: string): string =>
  `---\nprompt_id: ${id}\ntitle: ${id}\nstatus: Published\n${visibility}\n---\nText of ${id}\n`

describe('a client whose tools are limited', () => {
  it('reads the prompts and skills that its user sees, by every way, and of shared ones those of the roles it keeps', async (t) => {
    const where = folders(t)
    writeFileSync(
      join(where.site, 'config/clients.yaml'),
      'limits:\n  - { clients: [bare], tools: [] }\n  - { clients: [plain], tools: [], roles: [Assistant User] }\n',
    )
    const shared = 'visibility: Shared\nshared_with_roles: [Sales User]'
    writeFileSync(join(where.site, 'prompts/for_all.md'), prompt('for_all', 'visibility: Public'))
    writeFileSync(join(where.site, 'prompts/for_sales.md'), prompt('for_sales', shared))
    mkdirSync(join(where.site, 'skills/house-rules'))
    writeFileSync(
      join(where.site, 'skills/house-rules/SKILL.md'),
      '---\nname: house-rules\ndescription: The rules of the house.\nvisibility: Public\nstatus: Published\n---\nBe kind.\n',
    )
    const { daemon, url } = await runService(t, where)
    const { tokens, powers } = daemon.services
    const reads = async (client: string): Promise<unknown[]> => {
      const user = 'sales@example.com'
      const { accessToken } = await tokens.issue({
        user,
        client,
        clientName: client,
        scopes: ['all'],
        resource: 'urn:assistant-core:this-server',
      })
      const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }
      const post = async (path: string, body: object): Promise<string> =>
        await (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
      const ask = (method: string, params: object = {}): Promise<string> =>
        post(mcpPath, { jsonrpc: '2.0', id: 1, method, params })
      assert.deepEqual(powers(user, { id: client, name: client }, {})!.effects, ['use_library'])
      const lists = [
        await ask('prompts/list'),
        await post(`${promptMethodPrefix}search_prompts`, { limit: 1000 }),
      ]
      return [
        (JSON.parse(await ask('tools/list')) as { result: { tools: unknown[] } }).result.tools.length,
        /skill:\/\/house-rules\//.test(await ask('resources/list')),
        ...['for_all', 'for_sales'].map((id) => lists.map((list) => list.includes(`"${id}"`))),
        /Text of for_sales/.test(await ask('prompts/get', { name: 'for_sales' })),
      ]
    }
    assert.deepEqual(await reads('bare'), [0, true, [true, true], [true, true], true])
    assert.deepEqual(await reads('plain'), [0, true, [true, true], [false, false], false])
  })

  it('cannot be denied them by name: a setting that would do nothing is a fault', async (t) => {
    for (const [file, text] of [
      ['config/clients.yaml', 'limits:\n  - { clients: [bare], tools: [use_library] }\n'],
      ['config/tools.yaml', 'tools:\n  use_library: { enabled: false }\n'],
    ] as const) {
      const where = folders(t)
      writeFileSync(join(where.site, file), text)
      await assert.rejects(runService(t, where), (error: { data?: { faults: Fault[] } }) => {
        const told = error.data!.faults.map((fault) => [fault.file, fault.message])
        assert.deepEqual(told, [[file, 'unknown tool "use_library"']])
        return true
      })
    }
  })
})
