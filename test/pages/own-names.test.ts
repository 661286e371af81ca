/** Drafts in their person's own names, on pages and as MCP clients see them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { operate } from '../../src/cli/control.ts'
import { mcpPath } from '../cli/running-service.ts'
import { withoutGit } from '../../packages/site/test/site-folder.ts'
import { admin, hr, promptService, sales, visitor, type PromptService } from './prompt-service.ts'

const draft = (owner: string, lines = 'status: Draft\nvisibility: Private'): string =>
  `---\ntitle: A letter of ${owner}\n${lines}\nowner: ${owner}\n---\nFrom ${owner}\n`
const offered = 'status: Published\nvisibility: Public'

describe("a draft's name", { skip: withoutGit() }, () => {
  it("is its owner's on pages and over MCP, and is claimed for all when a System Manager offers it", async (t) => {
    const service = await promptService(t, {})
    for (const user of [sales, hr]) {
      const person = await visitor(service, user)
      const saved = await person.send('/new-prompt', 'save', { prompt: 'letter', text: draft(user) })
      assert.deepEqual([saved.status, new URL(saved.url).pathname], [200, '/prompts/letter'])
      assert.match(saved.html, new RegExp(`A letter of ${user}`))
      const published = await person.send('/prompts/letter', 'status', { status: 'Published' })
      assert.match(published.html, /It is saved\./)
      assert.deepEqual(await names(service, user), ['letter'])
      assert.match(await text(service, user, 'letter'), new RegExp(`From ${user}`))
    }
    const strange = await visitor(service, hr)
    assert.equal((await strange.open(`/prompts/${encodeURIComponent(`${sales}:letter`)}`)).status, 404)

    const manager = await visitor(service, admin)
    const list = (await manager.open('/prompts?words=letter')).html
    for (const user of [sales, hr])
      assert.match(list, new RegExp(`href="/prompts/${encodeURIComponent(`${user}:letter`)}"`))
    assert.deepEqual(await names(service, admin), [`${hr}:letter`, `${sales}:letter`])
    assert.match(await text(service, admin, `${sales}:letter`), new RegExp(`From ${sales}`))
    const edit = (user: string): string => `/prompts/${encodeURIComponent(`${user}:letter`)}/edit`
    const claimed = await manager.send(edit(sales), 'save', { text: draft(sales, offered) })
    assert.deepEqual([claimed.status, new URL(claimed.url).pathname], [200, '/prompts/letter'])
    const head = service.commits()[0]
    const refused = await manager.send(edit(hr), 'save', { text: draft(hr, offered) })
    assert.equal(refused.status, 400)
    assert.match(refused.html, /&quot;letter&quot; is already used by/)
    assert.equal(service.commits()[0], head)

    assert.deepEqual(await names(service, admin), ['letter', `${hr}:letter`])
    assert.deepEqual(await names(service, hr), ['letter'])
    assert.match(await text(service, hr, 'letter'), new RegExp(`From ${hr}`))
    assert.match(await text(service, admin, 'letter'), new RegExp(`From ${sales}`))
  })
})

interface Reply {
  readonly result: {
    readonly prompts: { readonly name: string }[]
    readonly messages: { readonly content: { readonly text: string } }[]
  }
}

async function ask(
  { url, options }: PromptService,
  user: string,
  method: string,
  params: object,
): Promise<Reply> {
  const { access_token } = await operate(options, 'tokens.issue', { user })
  const response = await fetch(url + mcpPath, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return (await response.json()) as Reply
}

async function names(service: PromptService, user: string): Promise<string[]> {
  const { prompts } = (await ask(service, user, 'prompts/list', {})).result
  return prompts.map(({ name }) => name).filter((name) => name.includes('letter'))
}

async function text(service: PromptService, user: string, name: string): Promise<string> {
  return (await ask(service, user, 'prompts/get', { name })).result.messages[0]!.content.text
}
