/** Where people begin: what waits for them, what they do first, where they are, and a search over all that they may see. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { principalFor } from '../../src/core/principal.ts'
import { outcomeOfTool } from '../../src/pages/documents/use-tool.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { audited, page, password, signIn } from './administered.ts'

const [admin, sales, hr, outsider] = ['admin', 'sales', 'hr', 'disabled'].map(
  (name) => `${name}@example.com`,
) as [string, string, string, string]

describe('the start page', () => {
  const ends: (() => unknown)[] = []
  let service: RunningService
  before(async () => {
    const t = { after: (end: () => unknown) => void ends.push(end) }
    service = await runService(t, folders(t))
    for (const user of [admin, sales, hr, outsider])
      await service.daemon.services.passwords.set(user, password)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const open = async (user: string, path = '/'): Promise<string> =>
    page(await (await signIn(service, user)).open(service.url + path)).html
  const part = (html: string, heading: string): string =>
    html.split('<section>').find((one) => one.includes(`<h2>${heading}</h2>`)) ?? ''
  const use = async (user: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<void> => {
    const { services } = service.daemon
    const principal = principalFor(services.people().find(user)!, 'test')
    const { isError, text } = await outcomeOfTool(services, principal, tool, args, {})
    assert.equal(isError, false, text)
  }

  it('shows what is assigned and waits, for those who may see it, and what was changed last', async () => {
    const order = { doctype: 'Sales Order', name: 'SO-00001' }
    await use(admin, 'assign', { ...order, user: sales, note: 'Ring them <today>' })
    const waits = part(await open(sales), 'Waiting for you')
    assert.match(waits, /href="\/documents\/Sales%20Order\/SO-00001"[^]*Ring them &lt;today&gt;/)
    assert.doesNotMatch(await open(hr), /SO-00001|Sales Order/)
    assert.match(
      part(await open(admin), 'Waiting for you'),
      /\d+ documents wait for a step of yours[^]*Purchase%20Order/,
    )
    await use(admin, 'create_document', { doctype: 'Task', data: { subject: 'The newest of all' } })
    assert.match(part(await open(admin), 'Changed last'), /The newest of all/)
    assert.ok((await audited(service, 'document.view')).some((line) => line.startsWith(`${sales} `)))
  })

  it('lists what to do first, each ticked off by what was done', async () => {
    const before = part(await open(sales), 'Next steps')
    assert.equal([...before.matchAll(/<li><span/g)].length, 2)
    const { tokens } = service.daemon.services
    const issued = { user: sales, client: 'assistant-core-cli', clientName: 'a script', scopes: ['all'] }
    await tokens.issue({ ...issued, resource: 'urn:assistant-core:this-server' })
    const after = part(await open(sales), 'Next steps')
    assert.match(after, /<li class="done"><span aria-hidden="true">✓<\/span> Connect an AI app/)
    assert.match(after, /<li><span aria-hidden="true">○<\/span> <a href="\/account">/)
  })

  it('is there for who has no access to the assistant, without anything of it', async () => {
    const html = await open(outsider)
    assert.doesNotMatch(html, /role="search"|Changed last|\/documents/)
    assert.match(html, /Next steps/)
  })

  it('finds documents, reports and prompts by words, of those that one may see', async () => {
    const found = await open(sales, '/search?words=sales')
    assert.match(found, /href="\/reports\/Sales%20by%20Customer"/)
    assert.match(found, /href="\/prompts\/sales_analysis"/)
    assert.match(await open(sales, '/search?words=Mueller'), /href="\/documents\/Customer\/M%C3%BCller%20/)
    const others = await open(hr, '/search?words=Mueller')
    assert.doesNotMatch(others, /documents\/(Customer|Sales%20Order|Opportunity)/)
    assert.doesNotMatch(await open(hr, '/search?words=sales'), /Sales%20by%20Customer/)
    for (const words of ['', '%20', '%22', '%25', 'x'.repeat(2000)])
      assert.match(await open(sales, `/search?words=${words}`), /<h1>Search<\/h1>/, words)
  })

  it('says on each page where one is, also below and beside it, and leads past the navigation', async () => {
    for (const [path, current] of [
      ['/', '<a href="/" aria-current="page">'],
      ['/documents', '<a href="/documents" aria-current="page">'],
      ['/documents/Customer', '<a href="/documents" aria-current="true">'],
      ['/new-document/Customer', '<a href="/documents" aria-current="true">'],
      ['/prompts/sales_analysis/history', '<a href="/prompts" aria-current="true">'],
      ['/new-prompt', '<a href="/prompts" aria-current="true">'],
      ['/reports/Sales%20by%20Customer', '<a href="/reports" aria-current="true">'],
    ] as const) {
      const html = await open(sales, path)
      assert.deepEqual(html.match(/<a href="[^"]*" aria-current="[^"]*">/g), [current], path)
      assert.ok(html.indexOf('href="#main"') < html.indexOf('<nav'), path)
      assert.match(html, /<main id="main"/)
    }
  })
})
