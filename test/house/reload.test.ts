/** A request works to its end with the reading of the site that it began with, whatever is reloaded meanwhile. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { operate } from '../../src/cli/control.ts'
import { folders, mcpPath, runService, type RunningService } from '../cli/running-service.ts'

const doctype = (name: string): string =>
  `doctype: ${name}
naming: { rule: field, field: port }
fields:
  - { fieldname: port, type: text, required: true }
permissions:
  - { role: Assistant User, actions: [read] }
`

const prompt = (text: string, target: string): string =>
  `---
title: Visit
status: Published
visibility: Public
arguments:
  - { argument_name: place, argument_type: link, doctype: ${target}, is_required: 1 }
---
${text} {{ place }}
`

/** A site whose prompt names a document of the doctype Harbour. */
async function harbours(t: TestContext): Promise<RunningService & { readonly token: string }> {
  const where = folders(t)
  const write = (path: string, text: string): void => writeFileSync(join(where.site, path), text)
  write('config/doctypes/harbour.yaml', doctype('Harbour'))
  mkdirSync(join(where.site, 'config/seeds'), { recursive: true })
  write(
    'config/seeds/harbour.yaml',
    'seeds:\n  - { doctype: Harbour, count: 1, fields: { port: { text: Hamburg } } }\n',
  )
  write('prompts/visit.md', prompt('Sail to', 'Harbour'))
  const service = await runService(t, where)
  const { access_token: token } = await operate(service.options, 'tokens.issue', {
    user: 'sales@example.com',
  })
  return { ...service, token }
}

/** The next reading: Harbour is gone, and the prompt says something else of something else. */
async function withoutHarbours({ site, daemon }: RunningService): Promise<void> {
  rmSync(join(site, 'config/doctypes/harbour.yaml'))
  rmSync(join(site, 'config/seeds/harbour.yaml'))
  writeFileSync(join(site, 'prompts/visit.md'), prompt('Call', 'Customer'))
  const { outcome, faults } = await daemon.services.site.reload('the test')
  assert.deepEqual([outcome, faults], ['swapped', []])
}

/** prompts/get whose body arrives in two halves, with something between them. */
function getPrompt(
  { url, token, daemon }: RunningService & { readonly token: string },
  place: string,
  between: () => Promise<void>,
): Promise<Record<string, any>> {
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'prompts/get',
    params: { name: 'visit', arguments: { place } },
  }
  const body = JSON.stringify(message)
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${mcpPath}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-06-18',
        'content-length': body.length,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve(JSON.parse(text.replace(/^[^{]*/, '')) as Record<string, any>))
    })
    const { metrics } = daemon.services
    const before = metrics.inFlight
    request.write(body.slice(0, 10))
    void (async () => {
      while (metrics.inFlight === before) await setTimeout(5)
      // It is with the endpoint when the token has been looked up.
      await setTimeout(100)
      await between()
      request.end(body.slice(10))
    })().catch(reject)
  })
}

const nothing = (): Promise<void> => Promise.resolve()

describe('a reload in the middle of a request', () => {
  it('changes neither the prompt nor the documents that the request may name', async (t) => {
    const service = await harbours(t)
    const text = (answer: Record<string, any>): string =>
      answer['result']?.messages[0].content.text.trim() ?? answer['error'].message
    assert.equal(text(await getPrompt(service, 'Hamburg', nothing)), 'Sail to Hamburg')
    const begun = await getPrompt(service, 'Hamburg', () => withoutHarbours(service))
    assert.equal(text(begun), 'Sail to Hamburg')
    assert.match(text(await getPrompt(service, 'Hamburg', nothing)), /there is no Customer "Hamburg"/)
  })

  it('leaves what a request completes to the documents of its own reading', async (t) => {
    const service = await harbours(t)
    const { site } = service.daemon.services
    const user = site.current().people.find('sales@example.com')!
    const principal = {
      user: user.id,
      fullName: user.fullName,
      roles: user.roles,
      roleKey: [...user.roles].sort().join('\n'),
      scopes: [],
      requestId: 'a test',
    }
    const { library } = site.current().for(principal)
    await withoutHarbours(service)
    assert.deepEqual(await library.complete(principal, 'visit', 'place', 'Ham'), {
      values: ['Hamburg'],
      total: 1,
    })
    assert.equal(
      (await library.render(principal, 'visit', { place: 'Hamburg' })).text.trim(),
      'Sail to Hamburg',
    )
    const { library: newer } = site.current().for(principal)
    assert.deepEqual((await newer.complete(principal, 'visit', 'place', 'Ham')).values, [])
  })
})

describe('an address that the settings name anew', () => {
  it('is published at once, and the manual asks a restart only where one is needed', async (t) => {
    const service = await runService(t)
    const path = join(service.site, 'config/settings.yaml')
    const manual = readFileSync(path, 'utf8')
    assert.match(manual, /What takes effect at a restart only says so/)
    assert.doesNotMatch(/(^# .*\n)+public_url: null$/m.exec(manual)![0], /restart/)
    for (const key of ['host', 'port', 'request_timeout_seconds'])
      assert.match(
        new RegExp(`(^  # .*\\n)+  ${key}: `, 'm').exec(manual)![0],
        /needs a restart/,
        `${key} is read at the start`,
      )
    writeFileSync(path, manual.replace('public_url: null', 'public_url: https://ai.example.com'))
    assert.equal((await service.daemon.services.site.reload('the test')).outcome, 'swapped')
    const answer = await fetch(`${service.url}/.well-known/oauth-authorization-server`)
    assert.equal(((await answer.json()) as { issuer: string }).issuer, 'https://ai.example.com')
  })
})
