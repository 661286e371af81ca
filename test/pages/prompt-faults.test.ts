/** One meaning of fault: what the pages, /admin, /healthz, reading and `check` say of a prompt that fails its own tests. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { runCli } from '../helpers/daemon.ts'
import { withoutGit, writeFiles } from '../../packages/site/test/site-folder.ts'
import { admin, promptService, sales, visitor, type PromptService } from './prompt-service.ts'

const file = 'prompts/letter.md'
const letter = (status: string, visibility = 'Private'): string => `---
title: A letter
status: ${status}
visibility: ${visibility}
owner: ${sales}
arguments:
  - { argument_name: who, is_required: 1 }
tests:
  - { name: greets, arguments: { who: Ada }, contains: Ada }
  - { name: is formal, arguments: { who: Ada }, contains: Esteemed }
---
Dear {{ who }}
`
const told = `${file}:10:5 tests[1]: is formal: does not contain "Esteemed"`

describe('a prompt that fails its own tests', { skip: withoutGit() }, () => {
  it('is not published: it was, with "It is saved.", while check called the site broken', async (t) => {
    const service = await promptService(t, { [file]: letter('Draft') })
    const [before, head] = [service.text(file), service.commits().length]
    assert.deepEqual(await said(service), {
      faults: [],
      rejected: false,
      checked: 0,
      told: [`warning: ${told}`],
    })
    assert.ok((await operate(service.options, 'status', {})).site.warnings.includes(told))

    const person = await visitor(service, sales)
    const refused = await person.send('/prompts/letter', 'status', { status: 'Published' })
    assert.equal(refused.status, 400)
    assert.match(refused.html, /role="alert"[^>]*>It fails its own tests, so it is not published/)
    assert.match(refused.html, /greets<\/bdi> – passed|is formal<\/bdi> – failed/)
    assert.match(refused.html, /does not contain &quot;Esteemed&quot;/)
    assert.doesNotMatch(refused.html, /It is saved/)
    assert.deepEqual([service.text(file), service.commits().length], [before, head])
    const [event] = await service.audited('prompt.status')
    assert.deepEqual([event?.status, event?.user, event?.target], ['error', sales, 'letter'])
    assert.match(event?.error ?? '', /it fails its own tests, and only a Draft may: is formal/)
  })

  it('is checked, saved as a draft and told so, and refused as Published at the line of the test', async (t) => {
    const service = await promptService(t, { [file]: letter('Draft') })
    const person = await visitor(service, sales)
    const edit = '/prompts/letter/edit'
    const text = letter('Published')
    const checked = await person.send(edit, 'check', { text })
    assert.match(checked.html, /Line 10, column 5<\/a> tests\[1\]/)
    assert.doesNotMatch(checked.html, /It has no faults/)
    const refused = await person.send(edit, 'save', { text })
    assert.equal(refused.status, 400)
    assert.match(refused.html, /It fails its own tests/)
    assert.match(refused.html, /Line 10, column 5<\/a> tests\[1\]/)
    assert.equal(service.text(file), letter('Draft'))

    const saved = await person.send(edit, 'save', { text: letter('Draft').replace('Dear', 'Good day') })
    assert.deepEqual([saved.status, new URL(saved.url).search], [200, '?saved'])
    assert.match(saved.html, /It is saved\./)
    assert.match(saved.html, /It fails one of its tests\./)
    assert.match(saved.html, /is formal<\/bdi> – failed/)
    assert.match(service.text(file), /Good day/)

    await person.send(edit, 'save', { text: letter('Draft').replace('Dear', 'Esteemed') })
    const published = await person.send('/prompts/letter', 'status', { status: 'Published' })
    assert.match(published.html, /It is saved\./)
    assert.doesNotMatch(published.html, /It fails/)
    assert.match(service.text(file), /status: Published/)
    // What is Published is not restored to a text that fails.
    const history = await person.send('/prompts/letter/history', 'restore', { id: '1' })
    assert.equal(history.status, 400)
    assert.match(service.text(file), /Esteemed \{\{/)
  })

  it('and comes by hand is a fault everywhere, in the same words, and the last good one stays in use', async (t) => {
    const service = await promptService(t, { [file]: letter('Draft') })
    writeFiles(service.site, { [file]: letter('Published', 'Public') })
    await assert.rejects(operate(service.options, 'site.reload', {}), /has one fault; the last good one/)
    assert.deepEqual(await said(service), { faults: [told], rejected: true, checked: 78, told: [told] })
    const page = (await (await visitor(service, admin)).open('/admin')).html
    assert.match(page, /tests\[1\]: is formal: does not contain/)
    assert.doesNotMatch(page, /The site has no faults/)
    assert.equal(service.daemon.services.site.current().library.site.read('letter').template.status, 'Draft')
  })

  it('and was Published before keeps no service from starting and no other change from being used', async (t) => {
    const service = await promptService(t, { [file]: letter('Published') })
    assert.deepEqual(await said(service), { faults: [told], rejected: false, checked: 78, told: [told] })
    assert.match(
      await (await fetch(`${service.url}/readyz`)).text(),
      /"name":"site","status":"degraded","detail":"published prompts fail their own tests"/,
    )
    const page = (await (await visitor(service, admin)).open('/admin')).html
    assert.doesNotMatch(page, /The site has no faults/)
    writeFiles(service.site, { 'prompts/other.md': letter('Draft').replace('A letter', 'Another') })
    assert.equal((await operate(service.options, 'site.reload', {})).outcome, 'swapped')
    assert.deepEqual((await said(service)).faults, [told])

    const person = await visitor(service, sales)
    const drafted = await person.send('/prompts/letter', 'status', { status: 'Draft' })
    assert.match(drafted.html, /It is saved\./)
    assert.deepEqual((await said(service)).faults, [])
  })
})

interface Said {
  /** What `/healthz` and `status` say. */
  readonly faults: readonly string[]
  readonly rejected: boolean
  /** What `check` ended with, and what it said of tests. */
  readonly checked: number | null
  readonly told: readonly string[]
}

/** What each surface says of the site. */
async function said({ url, site, options }: PromptService): Promise<Said> {
  const health = (await (await fetch(`${url}/healthz`)).json()) as { site: { faults: string[] } }
  assert.deepEqual((await operate(options, 'status', {})).site.faults, health.site.faults)
  const check = await runCli(['check', '--site', site])
  const lines = check.stderr.split('\n').map((line) => line.trim())
  const ready = await (await fetch(`${url}/readyz`)).text()
  return {
    faults: health.site.faults,
    rejected: ready.includes('the last edit was rejected'),
    checked: check.code,
    told: lines.filter((line) => line.includes(' tests[')),
  }
}
