/** The library of prompts as people find their way in it: all of them, their own drafts, and a form for each one's arguments. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { stream } from '../../src/cli/control.ts'
import { writeFiles } from '../../packages/site/test/site-folder.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { type Browser, fieldsOn, type Page } from '../helpers/browser.ts'
import { page, password, signIn } from './administered.ts'

const [sales, hr] = ['sales@example.com', 'hr@example.com'] as const
const many = 1100

const asking = `---
title: Asking
description: Asks for everything.
status: Published
visibility: Public
arguments:
  - { argument_name: amount, display_label: Amount, argument_type: number, is_required: 1 }
  - { argument_name: formal, display_label: Formal, argument_type: boolean }
  - { argument_name: tone, display_label: Tone, argument_type: select, allowed_values: [Warm, Cool] }
  - { argument_name: parts, display_label: Parts, argument_type: multiselect, allowed_values: [North, South] }
---
{{ amount }} {{ formal }} {{ tone }} {{ parts | join('+') }}
`

describe('the library of prompts on pages', () => {
  const ends: (() => unknown)[] = []
  let service: RunningService
  before(async () => {
    const t = { after: (end: () => unknown) => void ends.push(end) }
    const where = folders(t)
    const made = Array.from({ length: many }, (_, number): [string, string] => [
      `prompts/many/m${number}.md`,
      `---\ntitle: Number ${number}\ndescription: One of many.\nstatus: Published\nvisibility: Public\n---\nx\n`,
    ])
    const draft = `---\ntitle: My draft\ndescription: Not yet.\nstatus: Draft\nvisibility: Private\nowner: ${sales}\n---\nx\n`
    writeFiles(where.site, {
      ...Object.fromEntries(made),
      'prompts/asking.md': asking,
      'prompts/my_draft.md': draft,
    })
    service = await runService(t, where)
    for (const user of [sales, hr]) await service.daemon.services.passwords.set(user, password)
  })
  after(async () => {
    for (const end of ends.reverse()) await end()
  })

  const open = async (browser: Browser, path: string, language = 'en'): Promise<Page> =>
    page(await browser.open(service.url + path, { headers: { 'accept-language': language } }))
  /** Follows a list to its end: what it counts, and the prompts to which it leads, in their order. */
  async function walked(browser: Browser, first: string): Promise<{ total: number; ids: string[] }> {
    const ids: string[] = []
    let path: string | undefined = first
    let total = 0
    for (let pages = 0; path !== undefined && pages < 40; pages++) {
      const shown = await open(browser, path)
      total = Number(/role="status">(\d+) prompts?/.exec(shown.html)?.[1])
      ids.push(...idsOn(shown))
      path = /href="(\/prompts\?[^"]*)">Next page/.exec(shown.html)?.[1]?.replaceAll('&amp;', '&')
    }
    return { total, ids }
  }

  it('counts all of more than a thousand, and leads to each of them once, in any order and by words', async () => {
    const browser = await signIn(service, sales)
    const all = await walked(browser, '/prompts')
    assert.ok(all.total > many, String(all.total))
    assert.deepEqual([all.ids.length, new Set(all.ids).size], [all.total, all.total])
    for (const id of ['m0', `m${many - 1}`, 'sales_analysis']) assert.ok(all.ids.includes(id), id)
    const byTitle = await walked(browser, '/prompts?order=title+desc&f.description=One+of')
    assert.deepEqual([byTitle.total, byTitle.ids.length], [many, many])
    assert.equal(byTitle.ids[0], 'm999')
    const found = await walked(browser, '/prompts?words=Number')
    assert.deepEqual([found.total, new Set(found.ids).size], [found.ids.length, found.ids.length])
    assert.ok(found.total >= many, String(found.total))
    const ordered = await walked(browser, '/prompts?words=Number&order=name&f.description=One+of')
    assert.deepEqual([...ordered.ids], [...ordered.ids].sort())
    assert.equal(ordered.total, many)
  })

  it('shows a draft to who has saved it, who finds it by that, and to nobody else', async () => {
    const [mine, theirs] = [await signIn(service, sales), await signIn(service, hr)]
    const found = await open(mine, `/prompts?f.owner=${sales}&f.status=Draft`)
    assert.match(found.html, /role="status">1 prompt</)
    assert.match(found.html, /My draft<\/a>[^]*?<td[^>]*>Draft<\/td><td[^>]*>Sam Sales<\/td>/)
    assert.match(found.html, new RegExp(`<option value="${sales}" selected>Sam Sales</option>`))
    for (const path of [
      '/prompts?f.status=Draft',
      '/prompts?words=draft',
      '/export-prompts?f.status=Draft',
    ]) {
      const others = await (
        await fetch(service.url + path, { headers: { cookie: theirs.cookiesFor(service.url) } })
      ).text()
      assert.doesNotMatch(others, /My draft/, path)
    }
    const refused = await open(theirs, `/prompts?f.owner=${sales}`)
    assert.equal(refused.status, 400)
    assert.doesNotMatch(refused.html, /My draft|Sam Sales/)
  })

  it('is narrowed by category, with those below it, and by several things at once, kept on a mistake', async () => {
    const browser = await signIn(service, sales)
    const narrow = await walked(browser, '/prompts?f.category=data-analysis&f.is_system=true')
    assert.ok(narrow.ids.includes('sales_analysis') && !narrow.ids.includes('m0'), narrow.ids.join())
    const wrong = await open(browser, '/prompts?f.use_count.from=viele&f.title=Number&f.status=Draft', 'de')
    assert.equal(wrong.status, 400)
    assert.match(wrong.html, /name="f.use_count.from" value="viele"[^>]*aria-invalid="true"/)
    assert.match(wrong.html, /<span class="fault">Das ist keine ganze Zahl/)
    assert.match(wrong.html, /name="f.title" value="Number"/)
    assert.match(wrong.html, /<option value="Draft" selected>/)
  })

  it('is a file of what one sees, with each prompt once, and is audited', async () => {
    const browser = await signIn(service, sales)
    const get = (path: string) =>
      fetch(service.url + path, { headers: { cookie: browser.cookiesFor(service.url) } })
    const csv = (
      await (await get('/export-prompts?f.description=One+of&order=title&c.status=1')).text()
    ).split('\r\n')
    assert.deepEqual(csv.slice(0, 3), ['name,Name,Status', 'm0,Number 0,Published', 'm1,Number 1,Published'])
    assert.equal(csv.length, many + 2)
    const workbook = await get('/export-prompts?format=xlsx')
    assert.match(workbook.headers.get('content-type')!, /spreadsheetml/)
    assert.equal((await get('/export-prompts?format=doc')).status, 404)
    const told: unknown[] = []
    for await (const { data } of stream(service.options, 'audit.search', { type: 'prompt.view' }))
      told.push(data)
    assert.ok(
      told.some((data) =>
        JSON.stringify(data).includes('"format":"csv","question":{"filters":[["description"'),
      ),
    )
  })

  it('is kept as a view, which the start page leads to', async () => {
    const browser = await signIn(service, sales)
    const asked = '/prompts?f.status=Draft&c.visibility=1&order=title'
    const kept = page(
      await browser.fill(await open(browser, asked), '/prompts/keep', { name: 'Half written' }),
    )
    assert.match(kept.html, /It is done\./)
    assert.match(
      (await open(browser, '/')).html,
      /Prompts<\/span> <a href="\/prompts\?f.status=Draft[^"]*" dir="auto">Half written</,
    )
    await browser.fill(await open(browser, asked), '/prompts/keep', {})
    assert.match((await open(browser, '/prompts')).html, /role="status">1 prompt</, 'the list begins so')
    await browser.fill(await open(browser, asked), '/prompts/forget', { name: '' })
    const everything = await open(browser, '/prompts')
    assert.doesNotMatch(everything.html, /role="status">1 prompt</)
  })

  it('asks for arguments by the one form: by type, as people write them, with each problem at its argument', async () => {
    const browser = await signIn(service, sales)
    const inGerman = { headers: { 'accept-language': 'de' } }
    const shown = page(await browser.open(`${service.url}/prompts/asking`, inGerman))
    const action = '/prompts/asking/preview'
    assert.deepEqual(Object.fromEntries(fieldsOn(shown, action)), {
      csrf: fieldsOn(shown, action).get('csrf'),
      'f.amount': '',
      'f.formal': '',
      'f.tone': '',
    })
    const post = async (fields: Record<string, string>): Promise<Page> => {
      const body = new URLSearchParams({ csrf: fieldsOn(shown, action).get('csrf')!, ...fields })
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        origin: service.url,
        'accept-language': 'de',
      }
      return page(await browser.open(service.url + action, { method: 'POST', headers, body }))
    }
    const wrong = await post({ 'f.amount': 'viel', 'f.tone': 'Cool', 'f.parts.1': 'South' })
    assert.equal(wrong.status, 400)
    assert.match(
      wrong.html,
      /id="f-amount-about"[^>]*><span class="fault">Das ist keine Zahl: &quot;viel&quot;\./,
    )
    const kept = fieldsOn(wrong, action)
    assert.deepEqual(
      [kept.get('f.amount'), kept.get('f.tone'), kept.has('f.parts.1')],
      ['viel', 'Cool', true],
    )
    const right = await post({
      'f.amount': '1.234,5',
      'f.formal': 'true',
      'f.tone': 'Cool',
      'f.parts.0': 'North',
      'f.parts.1': 'South',
    })
    assert.match(right.html, />1234\.5 True Cool North\+South/)
  })
})

/** The prompts to which the rows of a list lead. */
function idsOn({ html }: Page): string[] {
  return [...html.matchAll(/<th scope="row"><a href="\/prompts\/([^"]+)"/g)].map(([, id]) => id!)
}
