import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { aliases, paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import { operate } from '../../src/cli/control.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'

/** Every way to the programs' endpoints; the router takes other spellings of most of them. */
const doors = [
  ['POST', paths.mcp],
  ['GET', paths.mcp],
  ['POST', `${promptMethodPrefix}search_prompts`],
  ['GET', `${paths.authorize}?client_id=x&response_type=code`],
  ['GET', aliases.authorize],
  ['POST', paths.authorize],
  ['POST', paths.token],
  ['POST', aliases.token],
  ['POST', `${aliases.token}/`],
  ['POST', aliases.token.toUpperCase()],
  ['POST', `${aliases.token}?x=1`],
  ['POST', paths.pushed],
  ['POST', paths.register],
  ['POST', aliases.register],
  ['POST', paths.revoke],
  ['POST', paths.introspect],
  ['GET', paths.userinfo],
  ['POST', paths.userinfo],
  ['GET', paths.jwks],
  ['GET', paths.openidConfiguration],
  ['GET', paths.authorizationServer],
  ['GET', paths.protectedResource],
  ['GET', `${paths.protectedResource}${paths.mcp}`],
] as const

describe('the main switch (server.enabled: false)', () => {
  it('closes MCP and OAuth in every spelling with 503 and when to come again, and opens them without a restart', async (t) => {
    const service = await switchedOff(t)
    for (const [method, path] of doors) {
      const answer = await fetch(service.url + path, { method, redirect: 'manual' })
      assert.equal(answer.status, 503, `${method} ${path}`)
      assert.equal(answer.headers.get('retry-after'), '60', path)
      assert.deepEqual(await answer.json(), { error: 'unavailable', message: 'the server is switched off' })
    }
    await turn(service, 'false', 'true')
    for (const [method, path] of doors) {
      const answer = await fetch(service.url + path, { method, redirect: 'manual' })
      await answer.arrayBuffer()
      assert.notEqual(answer.status, 503, `${method} ${path}`)
    }
  })

  it('leaves health, every page and what pages load, as the table of pages says', async (t) => {
    const { url } = await switchedOff(t)
    const html = { headers: { accept: 'text/html' }, redirect: 'manual' } as const
    const closed: string[] = []
    for (const { path } of [{ path: '/healthz' }, ...Object.values(pages)]) {
      const answer = await fetch(url + path.replaceAll(/:\w+|\{\*\w+\}/g, 'nothing'), html)
      await answer.arrayBuffer()
      if (answer.status === 503) closed.push(path)
    }
    assert.deepEqual(closed, [pages.consent.path])
    const ready = await fetch(`${url}/readyz`)
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /the server is switched off \(server\.enabled\)/)
  })
})

async function switchedOff(t: TestContext): Promise<RunningService> {
  const service = await runService(t, folders(t))
  await turn(service, 'true', 'false')
  return service
}

async function turn({ site, options }: RunningService, from: string, to: string): Promise<void> {
  const file = join(site, 'config/settings.yaml')
  const before = readFileSync(file, 'utf8')
  const after = before.replace(
    new RegExp(`(^server:\\n(?:\\s*#.*\\n)*\\s+enabled:) ${from}`, 'm'),
    `$1 ${to}`,
  )
  assert.notEqual(after, before)
  writeFileSync(file, after)
  await operate(options, 'site.reload', {})
}
