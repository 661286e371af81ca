/** The endpoint inside the real daemon: what a person changes in the site's files reaches the clients that listen. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startDaemon } from '../helpers/daemon.ts'
import { modern } from './server.ts'
import { streamOf } from './stream.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const path = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'

describe('the running daemon', () => {
  it(
    'tells a listening client of an edit to the site, and ends its stream when its token is revoked',
    { timeout: 120_000 },
    async (t) => {
      const daemon = await startDaemon(t)
      const token = await tokenOf(daemon, 'sales@example.com')
      const stream = await streamOf(
        t,
        daemon.url + path,
        'subscriptions/listen',
        {
          notifications: {
            toolsListChanged: true,
            resourcesListChanged: true,
            resourceSubscriptions: ['skill://greeting-people/SKILL.md'],
          },
        },
        { revision: modern, token, id: 'live' },
      )
      assert.equal((await stream.next()).method, 'notifications/subscriptions/acknowledged')

      mkdirSync(join(daemon.site, 'skills/greeting-people'))
      writeFileSync(
        join(daemon.site, 'skills/greeting-people/SKILL.md'),
        '---\nname: greeting-people\ndescription: How to greet people\n---\n\n# Greeting people\n\nSay hello first.\n',
      )
      assert.equal((await stream.next()).method, 'notifications/resources/list_changed')
      assert.equal((await stream.next()).params.uri, 'skill://greeting-people/SKILL.md')

      await daemon.cli(['tokens', 'revoke', '--user', 'sales@example.com'])
      assert.equal((await stream.next()).result.resultType, 'complete')
      assert.equal(await stream.next(), undefined)
    },
  )
})
