/** Somebody without any role of the business who writes prompts without end: how fast, how many, how much. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { promptMethodPrefix } from '../../src/library/prompt-methods-endpoint.ts'
import { operate } from '../../src/cli/control.ts'
import { admin, promptService, sales, visitor, type PromptService } from '../pages/prompt-service.ts'
import { withoutGit } from '../../packages/site/test/site-folder.ts'

const draft = (owner: string, body = 'Hello'): string =>
  `---\ntitle: A draft\nstatus: Draft\nvisibility: Private\nowner: ${owner}\n---\n${body}\n`
const duplicate = `${promptMethodPrefix}duplicate_as_private`

describe('writing prompts without end', { skip: withoutGit() }, () => {
  it('is refused with 429 on pages and to programs after the budget of a minute; nothing is written, and it is audited', async (t) => {
    const service = await promptService(t, {})
    const person = await visitor(service, sales)
    const save = (id: string): ReturnType<typeof person.send> =>
      person.send('/new-prompt', 'save', { prompt: id, text: draft(sales) })
    for (let count = 1; count <= 10; count++) assert.equal((await save(`draft-${count}`)).status, 200)
    const commits = service.commits().length
    const refused = await save('draft-11')
    assert.equal(refused.status, 429)
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.match(refused.html, /too many requests; try again in \d+ seconds/)
    // What they typed is still there.
    assert.match(refused.html, /value="draft-11"/)

    const token = await operate(service.options, 'tokens.issue', { user: sales })
    const answer = await fetch(service.url + duplicate, {
      method: 'POST',
      headers: { authorization: `Bearer ${token.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ prompt_id: 'draft-1' }),
    })
    assert.equal(answer.status, 429)
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    const body = (await answer.json()) as { error: string; message: string }
    assert.equal(body.error, 'rate_limited')
    assert.match(body.message, /too many requests/)

    assert.equal(service.commits().length, commits)
    assert.deepEqual(await told(service, 'prompt.create', 'draft-11'), [[sales, 'error']])
    assert.deepEqual(await told(service, 'prompt.duplicate', 'draft-1'), [[sales, 'error']])
    // It is a budget of each.
    const other = await visitor(service, admin)
    const made = await other.send('/new-prompt', 'save', { prompt: 'mine', text: draft(admin) })
    assert.equal(made.status, 200)
  })

  it('ends at so many drafts, and so many bytes, of one person; less is always saved', async (t) => {
    const service = await promptService(t, {}, [
      ['max_drafts_per_user: 200', 'max_drafts_per_user: 3'],
      ['max_draft_bytes_per_user: 5242880', 'max_draft_bytes_per_user: 1000'],
    ])
    const person = await visitor(service, sales)
    const save = (id: string, body?: string): ReturnType<typeof person.send> =>
      person.send('/new-prompt', 'save', { prompt: id, text: draft(sales, body) })
    for (const id of ['one', 'two']) assert.equal((await save(id)).status, 200)
    const large = await save('three', 'x'.repeat(1000))
    assert.equal(large.status, 403)
    assert.match(large.html, /the drafts of sales@example\.com would have \d+ bytes; the most is 1000/)
    const edited = await person.send('/prompts/two/edit', 'save', { text: draft(sales, 'x'.repeat(900)) })
    assert.equal(edited.status, 403)
    assert.equal((await save('three')).status, 200)
    const fourth = await save('four')
    assert.equal(fourth.status, 403)
    assert.match(fourth.html, /sales@example\.com has 3 drafts, as many as one may/)
    assert.deepEqual(await told(service, 'prompt.create', 'four'), [[sales, 'denied']])
    assert.equal(service.commits().length, 4)
    const less = await person.send('/prompts/two/edit', 'save', { text: draft(sales, 'x') })
    assert.equal(less.status, 200)
  })
})

async function told(service: PromptService, type: string, target: string): Promise<unknown[]> {
  const lines = await service.audited(type)
  return lines.filter((line) => line.target === target).map(({ user, status }) => [user, status])
}
