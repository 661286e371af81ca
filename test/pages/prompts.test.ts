/** The library of prompts as people find their way in it: all of them, their own drafts, and a form for each one's arguments. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { writeFiles } from '../site/site-folder.ts'
import { folders, runService, type RunningService } from '../cli/running-service.ts'
import { fieldsOn, type Page } from '../helpers/browser.ts'
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

  it('counts all of more than a thousand, and leads to each of them', async () => {
    const browser = await signIn(service, sales)
    const seen = new Set<string>()
    let path: string | undefined = '/prompts'
    let total = 0
    for (let pages = 0; path !== undefined && pages < 40; pages++) {
      const shown: Page = page(await browser.open(service.url + path))
      total = Number(/role="status">(\d+) prompts/.exec(shown.html)?.[1])
      for (const [, id] of shown.html.matchAll(/<code>([^<]+)<\/code>/g)) seen.add(id!)
      path = /href="(\/prompts\?[^"]*)">Next page/.exec(shown.html)?.[1]?.replaceAll('&amp;', '&')
    }
    assert.ok(total > many, String(total))
    assert.equal(seen.size, total)
    for (const id of ['m0', `m${many - 1}`, 'sales_analysis']) assert.ok(seen.has(id), id)
  })

  it('shows a draft to who has saved it, and to nobody else', async () => {
    const [mine, theirs] = [await signIn(service, sales), await signIn(service, hr)]
    const found = page(await mine.open(`${service.url}/prompts?query=draft`))
    assert.match(found.html, /My draft<\/a>[^]*?<span class="badge">Draft<\/span>/)
    const others = page(await theirs.open(`${service.url}/prompts?query=draft`))
    assert.doesNotMatch(others.html, /My draft/)
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
    const wrong = await post({ 'f.amount': 'viel', 'f.tone': 'Cool', 'f.parts.1': 'on' })
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
      'f.parts.0': 'on',
      'f.parts.1': 'on',
    })
    assert.match(right.html, />1234\.5 True Cool North\+South/)
  })
})
