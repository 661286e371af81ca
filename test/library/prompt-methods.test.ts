import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, describe, it, type TestContext } from 'node:test'
import Koa from 'koa'
import type { Principal } from '../../src/core/principal.ts'
import type { CategoryNode } from '../../src/library/category-tree.ts'
import { promptMethods, type PromptMethod } from '../../src/library/prompt-methods.ts'
import { promptMethodPrefix, promptMethodsEndpoint } from '../../src/library/prompt-methods-endpoint.ts'
import type { PromptHistoryEntry } from '../../src/library/versions/history.ts'
import type { PromptRow } from '../../src/library/prompts/prompt-rows.ts'
import { Previews } from '../../src/library/prompts/previews.ts'
import { PromptWriter } from '../../src/library/writing/writing.ts'
import { as, folderWith, open, template, world, write, unbounded, refusalOf } from './library-site.ts'

const sales = as('sales@example.com')
const hr = as('hr@example.com')

interface Methods {
  readonly methods: Readonly<Record<string, PromptMethod>>
  readonly call: (name: string, body: unknown, principal?: Principal) => Promise<any>
  readonly folder: string
  readonly reload: () => Promise<void>
  readonly use: (id: string, principal?: Principal) => Promise<unknown>
}

const previews = new Previews()
after(() => previews.close())

async function methodsOf(t: TestContext, files: Record<string, string>): Promise<Methods> {
  const folder = await folderWith(t, files)
  const w = await world(t)
  let library = (await open(w, folder)).library
  const reload = async (): Promise<void> => {
    library = (await open(w, folder)).library
  }
  const { usage } = w.librarian
  const writer = new PromptWriter({
    folder,
    library: () => library,
    audit: w.parts.audit,
    commits: () => false,
    isPulled: () => false,
    ...unbounded,
    reload,
  })
  const methods: Readonly<Record<string, PromptMethod>> = promptMethods({
    refusalOf,
    library: () => library,
    usage,
    writer,
    previews,
  })
  return {
    methods,
    call: (name, body, principal = sales) => methods[name]!.call(principal, body),
    folder,
    reload,
    use: async (id, principal = sales) => {
      w.clock.advance(1000)
      return library.for(principal).render(principal, id, {})
    },
  }
}

const ids = (rows: readonly PromptRow[]): string[] => rows.map((row) => row.prompt_id)

const categories = `categories:
  - { category_id: analysis, category_name: Analysis, is_group: 1, icon: i, color: '#123456', description: All }
  - { category_id: money, category_name: Money, is_group: 1, parent_category: analysis }
  - { category_id: tax, category_name: Tax, parent_category: money }
  - { category_id: other, category_name: Other }
`

describe('§4.7 preview_template', () => {
  it('renders with any engine, without declared arguments', async (t) => {
    const { call } = await methodsOf(t, {})
    const body = (template_content: string, rendering_engine: string): unknown => ({
      template_content,
      rendering_engine,
      arguments: { name: 'ACME', flag: 'false' },
    })
    assert.equal(
      await call('preview_template', body('{% if flag %}{{ name | upper }}{% endif %}', 'Jinja2')),
      'ACME',
    )
    assert.equal(await call('preview_template', body('{{{name}}}', 'Format String')), '{ACME}')
    assert.equal(await call('preview_template', body('{{ name }}', 'Raw')), '{{ name }}')
    assert.equal(await call('preview_template', { template_content: 'x', arguments: '{"a": 1}' }), 'x')
  })

  it('checks declared arguments and makes them real values', async (t) => {
    const { call } = await methodsOf(t, {})
    const body = {
      template_content: '{% if flag %}yes{% else %}no{% endif %} {{ n + 1 }} {{ to }}',
      declared_arguments: [
        { argument_name: 'flag', argument_type: 'boolean' },
        { argument_name: 'n', argument_type: 'number', default_value: 2 },
        { argument_name: 'to', argument_type: 'link', doctype: 'Customer' },
      ],
    }
    assert.equal(
      await call('preview_template', { ...body, arguments: { flag: 'false', to: 'ACME' } }),
      'no 3 ACME',
    )
    await assert.rejects(
      call('preview_template', { ...body, arguments: { flag: 'x', to: 'Secret Ltd', zzzz: 1 } }, hr),
      {
        code: 'invalid',
        data: {
          problems: [
            { argument: 'flag', problem: 'must be true or false, not "x"' },
            { argument: 'zzzz', problem: 'is not an argument of this prompt' },
            { argument: 'to', problem: 'there is no Customer "Secret Ltd"' },
          ],
        },
      },
    )
  })

  it('answers mistakes as errors, never as text', async (t) => {
    const { call } = await methodsOf(t, {})
    await assert.rejects(call('preview_template', { template_content: 'a\n{% if %}' }), {
      code: 'invalid',
      message: /^template_content: line 2, column \d+: /,
    })
    await assert.rejects(
      call('preview_template', { template_content: '{x}', rendering_engine: 'Mustache' }),
      {
        code: 'invalid',
        message: /^rendering_engine: must be one of "Jinja2", "Format String" or "Raw"/,
      },
    )
    await assert.rejects(
      call('preview_template', { template_content: '{{ x.y.z }}', arguments: '[1]' }),
      /must be an object/,
    )
    await assert.rejects(call('preview_template', { template_content: '{{ x.y.z }}' }), { code: 'invalid' })
  })

  it('cannot be made to run code, or to run for long', async (t) => {
    const { call } = await methodsOf(t, {})
    for (const attack of [
      '{{ range.constructor("return process")() }}',
      "{{ ''.__class__.__mro__[1].__subclasses__() }}",
      '{{ a"^Function`return process`^"b }}',
    ]) {
      await assert.rejects(call('preview_template', { template_content: attack }), { code: 'invalid' })
    }
    const begun = Date.now()
    await assert.rejects(
      call('preview_template', {
        template_content: '{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}',
      }),
      { code: 'invalid' },
    )
    assert.ok(Date.now() - begun < 30_000)
    const [text] = [
      await call('preview_template', { template_content: '{{ a }}', arguments: { a: '{{ 7 * 7 }}' } }),
    ]
    assert.equal(text, '{{ 7 * 7 }}')
  })
})

describe('§4.7 search_prompts', () => {
  const files = {
    'prompts/categories.yaml': categories,
    'prompts/invoice-check.md': template('title: Check a bill\ncategory: tax\ntags: [money, daily]'),
    'prompts/monthly.md': template('title: Monthly invoice report\ncategory: money\ntags: [money]'),
    'prompts/notes.md': template('title: Notes\ndescription: About an invoice that is late\ncategory: other'),
    'prompts/words.md': template('title: Words', 'Somewhere inside it says invoice'),
    'prompts/secret.md': template('title: Invoice of others\nvisibility: Private\nowner: hr@example.com'),
    'prompts/draft.md': template('title: Invoice draft\nstatus: Draft\nowner: sales@example.com'),
    'prompts/apple.md': template('title: Apple'),
  }

  it('ranks matches in the id, the title, the description and the content, in this order', async (t) => {
    const { call } = await methodsOf(t, files)
    assert.deepEqual(ids(await call('search_prompts', { query: 'invoice' })), [
      'invoice-check',
      'monthly',
      'notes',
      'words',
    ])
    assert.deepEqual(
      ids(await call('search_prompts', { query: 'invoce' })).slice(0, 2),
      ['invoice-check', 'monthly'],
      'a typing mistake',
    )
    assert.deepEqual(ids(await call('search_prompts', { query: 'month inv' })), ['monthly'])
    assert.deepEqual(await call('search_prompts', { query: 'zebra' }), [])
  })

  it('finds only what the caller may see', async (t) => {
    const { call } = await methodsOf(t, files)
    assert.ok(!ids(await call('search_prompts', { query: 'invoice' })).includes('secret'))
    assert.deepEqual(ids(await call('search_prompts', { query: 'others' }, hr)), ['secret'])
    assert.deepEqual(ids(await call('search_prompts', { query: 'invoice', status: 'Draft' })), ['draft'])
    assert.deepEqual(ids(await call('search_prompts', { query: 'invoice', status: 'Draft' }, hr)), [])
  })

  it('narrows by category with all below it, by tags, and by limit', async (t) => {
    const { call } = await methodsOf(t, files)
    assert.deepEqual(ids(await call('search_prompts', { query: 'invoice', category: 'analysis' })), [
      'invoice-check',
      'monthly',
    ])
    assert.deepEqual(ids(await call('search_prompts', { query: 'invoice', tags: 'money, Daily' })), [
      'invoice-check',
    ])
    assert.equal((await call('search_prompts', { limit: 3 })).length, 3)
    await assert.rejects(call('search_prompts', { category: 'analyis' }), {
      code: 'not_found',
      message: /did you mean "analysis"/,
    })
  })

  it('tells every problem of the body at once', async (t) => {
    const { call } = await methodsOf(t, {})
    await assert.rejects(
      call('search_prompts', { query: 1, limit: 0, status: 'Live', colour: 'red' }),
      (error: Error) => {
        for (const part of [
          'query: must be string',
          'limit: ',
          'status: must be one of',
          'colour: unknown key',
        ]) {
          assert.ok(error.message.includes(part), `${part} in ${error.message}`)
        }
        return true
      },
    )
  })
})

describe('§4.7 the other lists', () => {
  const files = {
    'prompts/categories.yaml': categories,
    'prompts/a.md': template('category: tax'),
    'prompts/b.md': template('category: analysis'),
    'prompts/c.md': template('category: other'),
    'prompts/d.md': template('category: tax\nstatus: Draft\nowner: sales@example.com'),
    'prompts/e.md': template('category: tax\nvisibility: Private\nowner: hr@example.com'),
  }

  it('get_popular_prompts: the most used first, counted and dated by prompts/get', async (t) => {
    const { call, use } = await methodsOf(t, files)
    for (const id of ['b', 'c', 'b', 'd']) await use(id)
    const rows: PromptRow[] = await call('get_popular_prompts', { limit: 2 })
    assert.deepEqual(
      rows.map(({ prompt_id, use_count, last_used }) => [prompt_id, use_count, last_used]),
      [
        ['b', 2, '2026-01-02T03:04:08.000Z'],
        ['c', 1, '2026-01-02T03:04:07.000Z'],
      ],
    )
    await assert.rejects(use('e'), { code: 'not_found' })
    assert.equal(
      (await call('get_popular_prompts', {}, hr)).find((row: PromptRow) => row.prompt_id === 'e').use_count,
      0,
    )
  })

  it('get_prompts_by_category: with the categories below', async (t) => {
    const { call } = await methodsOf(t, files)
    assert.deepEqual(ids(await call('get_prompts_by_category', { category: 'analysis' })), ['a', 'b'])
    assert.deepEqual(ids(await call('get_prompts_by_category', { category: 'tax' }, hr)), ['e', 'a'])
    await assert.rejects(call('get_prompts_by_category', {}), {
      code: 'invalid',
      message: '"category" is required',
    })
    await assert.rejects(call('get_prompts_by_category', { category: 'none' }), { code: 'not_found' })
  })

  it('get_category_tree: nested, with the number of prompts that the caller sees', async (t) => {
    const { call } = await methodsOf(t, files)
    const short = (nodes: readonly CategoryNode[]): unknown =>
      nodes.map(({ category_id, prompt_count, children }) => [category_id, prompt_count, short(children)])
    assert.deepEqual(short(await call('get_category_tree', {})), [
      ['analysis', 2, [['money', 1, [['tax', 1, []]]]]],
      ['other', 1, []],
    ])
    assert.deepEqual(short(await call('get_category_tree', { parent: 'money' }, hr)), [['tax', 2, []]])
    const [{ icon, color, description, is_group }] = await call('get_category_tree', {})
    assert.deepEqual(
      { icon, color, description, is_group },
      { icon: 'i', color: '#123456', description: 'All', is_group: 1 },
    )
  })
})

describe('versions as methods', () => {
  it('get_version_history, restore_version, create_version, duplicate_as_private', async (t) => {
    const { call, folder, reload } = await methodsOf(t, {
      'prompts/x.md': template('owner: sales@example.com', 'one'),
    })
    await write(folder, { 'prompts/x.md': template('owner: sales@example.com', 'two') })
    await reload()
    const history: PromptHistoryEntry[] = await call('get_version_history', { prompt_id: 'x', limit: 1 })
    assert.deepEqual(
      history.map(({ version, current }) => [version, current]),
      [[2, true]],
    )
    assert.match(history[0]!.diff, /-one\n\+two$/)
    await assert.rejects(call('restore_version', { prompt_id: 'x' }), {
      code: 'invalid',
      message: '"version" is required',
    })
    assert.deepEqual(await call('restore_version', { prompt_name: 'x', version_id: '1' }), {
      prompt_id: 'x',
      file: 'prompts/x.md',
      commit: null,
    })
    assert.equal((await call('get_version_history', { prompt_id: 'x' })).length, 3)
    assert.equal((await call('create_version', { prompt_id: 'x', notes: 'n' })).prompt_id, 'x_v2')
    assert.equal((await call('duplicate_as_private', { prompt_id: 'x' }, hr)).prompt_id, 'x_copy_hr')
    for (const name of ['get_version_history', 'restore_version', 'create_version', 'duplicate_as_private']) {
      await assert.rejects(call(name, {}), { code: 'invalid' })
      await assert.rejects(
        call(name, { prompt_id: 'x_copy_hr', ...(name === 'restore_version' && { version: 1 }) }),
        { code: 'not_found' },
      )
    }
  })
})

describe('the methods on the network', () => {
  const prefix = promptMethodPrefix

  async function serve(t: TestContext): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
    const { methods } = await methodsOf(t, { 'prompts/x.md': template('title: X') })
    const app = new Koa()
    app.silent = true
    app.use((ctx, next) => {
      if (ctx.get('x-user') !== '') ctx.state['principal'] = as(ctx.get('x-user'))
      return next()
    })
    app.use(
      promptMethodsEndpoint(
        () => methods,
        (_, body) => body,
      ),
    )
    const server = app.listen(0, '127.0.0.1')
    await new Promise((done) => server.once('listening', done))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    return (path, init) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        ...init,
        headers: {
          'content-type': 'application/json',
          'x-user': 'sales@example.com',
          ...(init?.headers as Record<string, string> | undefined),
        },
      })
  }

  it('answer in the envelope of the platform', async (t) => {
    const request = await serve(t)
    const response = await request(`${prefix}preview_template`, {
      body: JSON.stringify({ template_content: '{{ 1 + 1 }}' }),
    })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.deepEqual(await response.json(), { message: '2' })
    const exact =
      '{"template_content": "{{ a }} {{ b }}", "arguments": {"a": 1.0, "b": 12345678901234567890}}'
    assert.deepEqual(await (await request(`${prefix}preview_template`, { body: exact })).json(), {
      message: '1.0 12345678901234567890',
    })
    const rows = (await (await request(`${prefix}search_prompts`)).json()) as { message: PromptRow[] }
    assert.deepEqual(ids(rows.message), ['x'])
  })

  it('answer every error as JSON with its status', async (t) => {
    const request = await serve(t)
    const table: [string, RequestInit, number, string, RegExp][] = [
      ['preview_template', { body: '{"template_content": "{% if"}' }, 400, 'invalid', /line 1/],
      ['preview_template', { body: '{' }, 400, 'invalid', /not JSON/],
      ['preview_template', { body: '[]' }, 400, 'invalid', /must be object/],
      [
        'preview_template',
        { body: JSON.stringify({ template_content: 'x'.repeat(1_100_000) }) },
        413,
        'invalid',
        /at most/,
      ],
      ['get_version_history', { body: '{"prompt_id": "nothing"}' }, 404, 'not_found', /there is no prompt/],
      ['restore_version', { body: '{"prompt_id": "x", "version": 1}' }, 403, 'forbidden', /only its owner/],
      ['restore_version', { body: '{}' }, 400, 'invalid', /^"version" is required$/],
      ['create_version', { body: '{}' }, 400, 'invalid', /^"prompt_id" is required$/],
      ['no_such_method', {}, 404, 'not_found', /no method/],
      ['constructor', {}, 404, 'not_found', /no method/],
      ['search_prompts', { headers: { 'x-user': '' } }, 401, 'invalid_token', /authentication/],
      [
        'search_prompts',
        { headers: { 'content-type': 'text/plain' }, body: '{}' },
        415,
        'unsupported_media_type',
        /json/,
      ],
      [
        'search_prompts',
        { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' },
        415,
        'unsupported_media_type',
        /json/,
      ],
      ['search_prompts', { method: 'GET' }, 405, 'method_not_allowed', /POST/],
    ]
    for (const [name, init, status, error, message] of table) {
      const response = await request(`${prefix}${name}`, init)
      const body = (await response.json()) as { error: string; message: string }
      assert.equal(response.status, status, `${name}: ${JSON.stringify(body)}`)
      assert.equal(body.error, error)
      assert.match(body.message, message)
    }
  })
})
