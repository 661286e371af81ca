/** A tool as an administrator tries it: as themselves, by a form of its schema, with what a model would get. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { fieldsOn, type Page } from '../helpers/browser.ts'
import { administered, assistantAdmin, audited, manager, page, sales, signIn } from './administered.ts'

describe('trying a tool', () => {
  const ends: (() => unknown)[] = []
  let service: Awaited<ReturnType<typeof administered>>
  before(async () => {
    service = await administered({ after: (end: () => unknown) => void ends.push(end) } as never)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })
  const at = (tool: string): string => `/admin/tools/${tool}`
  const tried = async (tool: string, fields: Record<string, string>): Promise<Page> => {
    const browser = await signIn(service, manager)
    const shown = page(await browser.open(service.url + at(tool)))
    return page(await browser.fill(shown, `${at(tool)}/run`, fields))
  }

  it('gives what a model would get, with its size, and is in the log like every call', async () => {
    const answer = await tried('list_documents', {
      'f.doctype': 'Customer',
      'f.limit': '2',
      'f.filters': '{"territory": "North"}',
    })
    assert.match(answer.html, /\d+ bytes, about \d+ tokens/)
    assert.match(answer.html, /<pre[^>]*>\{&quot;data&quot;:/)
    assert.ok((await audited(service, 'tool.call')).includes(`${manager} list_documents ok`))
  })

  it('says at its argument what is wrong and keeps what was typed; a refusal stands as a model would read it', async () => {
    const wrong = await tried('list_documents', {
      'f.doctype': 'Customer',
      'f.limit': 'many',
      'f.filters': '{no',
    })
    assert.equal(wrong.status, 400)
    assert.match(wrong.html, /id="f-filters-about"[^>]*><span class="fault">must be JSON/)
    assert.equal(fieldsOn(wrong, `${at('list_documents')}/run`).get('f.limit'), 'many')
    const typed = await tried('list_documents', { 'f.doctype': 'Customer', 'f.limit': 'many' })
    assert.match(typed.html, /id="f-limit-about"[^>]*><span class="fault">/)
    const none = await tried('list_documents', { 'f.doctype': 'Costumer' })
    assert.match(none.html, /It is told as an error\.[^]*did you mean &quot;Customer&quot;/)
  })

  it('changes nothing before it is said that this is wanted', async () => {
    const made = { 'f.doctype': 'Task', 'f.data': '{"subject": "Tried in the browser"}' }
    const count = async (): Promise<number> =>
      (await audited(service, 'document.create')).filter((line) => line.includes('Task/')).length
    const before = await count()
    assert.equal((await tried('create_document', made)).status, 400)
    assert.equal(await count(), before)
    const done = await tried('create_document', { ...made, confirmed: '1' })
    assert.match(done.html, /Tried in the browser/)
    assert.equal(await count(), before + 1)
    const browser = await signIn(service, manager)
    const shown = page(await browser.open(service.url + at('create_document')))
    const send = () => browser.fill(shown, `${at('create_document')}/run`, { ...made, confirmed: '1' })
    for (const answer of [await send(), await send()]) assert.match(page(answer).html, /Tried in the browser/)
    assert.equal(await count(), before + 2, 'sent twice, done once')
  })

  it('stands below the tools, and below nothing else', async () => {
    const browser = await signIn(service, manager)
    const { html } = page(await browser.open(service.url + at('list_documents')))
    const [, tabs] = /<nav aria-label="Administration">([^]*?)<\/nav>/.exec(html)!
    assert.deepEqual(tabs!.match(/href="[^"]*" aria-current="[^"]*"/g), [
      'href="/admin/tools" aria-current="true"',
    ])
  })

  it('is for administrators, with the tools that they have themselves', async () => {
    const seller = await signIn(service, sales)
    assert.equal(page(await seller.open(service.url + at('list_documents'))).status, 404)
    const helper = await signIn(service, assistantAdmin)
    assert.equal(page(await helper.open(service.url + at('list_documents'))).status, 403, 'may not use tools')
    const { html } = page(await helper.open(`${service.url}/admin/tools`))
    assert.match(html, /<code>list_documents<\/code>/)
    assert.doesNotMatch(html, /href="\/admin\/tools\//, 'nor is sent to where they may not go')
    const browser = await signIn(service, manager)
    assert.equal(page(await browser.open(service.url + at('no_such_tool'))).status, 404)
    assert.match(
      page(await browser.open(`${service.url}/admin/tools`)).html,
      /href="\/admin\/tools\/list_documents"/,
    )
  })
})
