import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { as, openWith, template } from './library-site.ts'

const sales = as('sales@example.com')
const hr = as('hr@example.com')

const rows = `arguments:
  - { argument_name: name, is_required: 1 }
  - { argument_name: flag, argument_type: boolean, default_value: 'false' }
  - { argument_name: list, argument_type: multiselect, allowed_values: 'a, b, c' }
  - { argument_name: count, argument_type: number, default_value: 3 }`

describe('§4.5 prompts rule 3: the three engines', () => {
  it('Jinja2 has conditionals, loops, filters and comments, on real values', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template(
        rows,
        "{# not shown #}{{ name | upper }}{% if flag %} flagged{% endif %}{% for item in list %} {{ loop.index }}{{ item }}{% endfor %} {{ count + 1 }} {{ nothing | default('none') }}",
      ),
    })
    const text = async (args: Record<string, unknown>): Promise<string> =>
      (await library.for(sales).render(sales, 'x', args)).text
    assert.equal(await text({ name: 'acme' }), 'ACME 4 none')
    assert.equal(
      await text({ name: 'acme', flag: 'true', list: 'b,a', count: '1.0' }),
      'ACME flagged 1b 2a 2.0 none',
    )
  })

  it('Format String substitutes plain names only, printed as Jinja2 prints them', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template(
        `rendering_engine: Format String\n${rows}`,
        '{{{name}}} {flag} {list} {count}',
      ),
    })
    assert.equal(
      (await library.for(sales).render(sales, 'x', { name: '{flag}' })).text,
      '{{flag}} False  3\n',
    )
    assert.equal(
      (await library.for(sales).render(sales, 'x', { name: 'n', list: ['a', 'b'] })).text,
      "{n} False ['a', 'b'] 3\n",
    )
  })

  it('Format String makes no more text of a long value than Jinja2 may', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template(
        'rendering_engine: Format String\narguments: [{ argument_name: name }]',
        '{name}'.repeat(3000),
      ),
    })
    assert.equal((await library.for(sales).render(sales, 'x', { name: 'abc' })).text.length, 9001)
    await assert.rejects(library.for(sales).render(sales, 'x', { name: 'a'.repeat(90_000) }), {
      code: 'invalid',
      message: /the output is longer than 1000000 bytes/,
    })
  })

  it('Raw returns the content unchanged', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template('rendering_engine: Raw', '{{ name }} {x} {% if %}'),
    })
    assert.equal((await library.for(sales).render(sales, 'x', {})).text, '{{ name }} {x} {% if %}\n')
  })

  it('treats arguments as values, never as template text', async (t) => {
    const { library } = await openWith(t, { 'prompts/x.md': template(rows, '{{ name }}') })
    assert.equal(
      (await library.for(sales).render(sales, 'x', { name: '{{ 7 * 7 }}{% if x %}' })).text,
      '{{ 7 * 7 }}{% if x %}',
    )
  })
})

describe('prompts/get', () => {
  it('refuses wrong arguments with all their problems, and counts nothing then', async (t) => {
    const { library, world } = await openWith(t, {
      'prompts/x.md': template(rows, '{{ name }}{{ flag }}{{ list }}{{ count }}'),
    })
    await assert.rejects(library.for(sales).render(sales, 'x', { flag: 'x', nam: 1 }), {
      code: 'invalid',
      message:
        'x: name: is required; flag: must be true or false, not "x"; nam: is not an argument of this prompt; did you mean "name"?',
      data: {
        problems: [
          { argument: 'name', problem: 'is required' },
          { argument: 'flag', problem: 'must be true or false, not "x"' },
          { argument: 'nam', problem: 'is not an argument of this prompt; did you mean "name"?' },
        ],
      },
    })
    assert.deepEqual(await world.librarian.usage.of('prompt', 'x'), { count: 0 })
  })

  it('§4.5 rule 4: counts each success and when it was, across restarts', async (t) => {
    const { library, world } = await openWith(t, { 'prompts/x.md': template('') })
    await library.for(sales).render(sales, 'x', {})
    world.clock.advance(5000)
    await library.for(sales).render(sales, 'x', {})
    const use = { count: 2, last: world.clock.now() }
    assert.deepEqual(await world.librarian.usage.of('prompt', 'x'), use)
    await world.librarian.close()
    assert.deepEqual(await world.again().usage.of('prompt', 'x'), use)
  })

  it('counts right when many ask at once and the state is written meanwhile', async (t) => {
    const { library, world } = await openWith(t, { 'prompts/x.md': template('') })
    for (let round = 0; round < 5; round++) {
      await Promise.all([
        ...Array.from({ length: 20 }, () => library.for(sales).render(sales, 'x', {})),
        world.librarian.usage.flush(),
        world.librarian.usage.of('prompt', 'x'),
      ])
    }
    assert.equal((await world.librarian.usage.of('prompt', 'x')).count, 100)
    assert.equal((await world.librarian.usage.all('prompt')).get('x')?.count, 100)
  })

  it('checks links with the permissions of the caller', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template(
        'arguments:\n  - { argument_name: who, argument_type: link, doctype: Customer }',
        '{{ who }}',
      ),
    })
    assert.equal((await library.for(sales).render(sales, 'x', { who: 'Secret Ltd' })).text, 'Secret Ltd')
    await assert.rejects(library.for(hr).render(hr, 'x', { who: 'Secret Ltd' }), {
      data: { problems: [{ argument: 'who', problem: 'there is no Customer "Secret Ltd"' }] },
    })
  })

  it('answers what goes wrong inside a template as its own error, not as a bug', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template('arguments:\n  - { argument_name: a, argument_type: json }', '{{ a.b.c.d }}'),
    })
    await assert.rejects(library.for(sales).render(sales, 'x', { a: '{}' }), { code: 'invalid' })
  })
})

describe('a call with a hundred thousand arguments that are not there', () => {
  it('is told of the first hundred', async (t) => {
    const { library } = await openWith(t, { 'prompts/x.md': template('', 'text') })
    const args = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`a${index}`, 1]))
    await assert.rejects(library.for(sales).render(sales, 'x', args), (error: unknown) => {
      assert.ok(error instanceof Error && error.message.length < 20_000)
      return true
    })
  })
})

describe('completion', () => {
  const complete = `arguments:
  - { argument_name: one, argument_type: select, allowed_values: 'Sales, service, other' }
  - { argument_name: some, argument_type: multiselect, allowed_values: 'red, green, grey' }
  - { argument_name: flag, argument_type: boolean }
  - { argument_name: who, argument_type: link, doctype: Customer }
  - { argument_name: free, default_value: last month }
  - { argument_name: doctype_name, argument_type: string }`

  it('offers what an argument may be, by what was typed', async (t) => {
    const { library } = await openWith(t, {
      'prompts/x.md': template(
        complete,
        '{{ one }}{{ some }}{{ flag }}{{ who }}{{ free }}{{ doctype_name }}',
      ),
    })
    const offered = async (argument: string, typed: string, principal = sales): Promise<readonly string[]> =>
      (await library.for(principal).complete(principal, 'x', argument, typed)).values
    assert.deepEqual(await offered('one', ''), ['Sales', 'service', 'other'])
    assert.deepEqual(await offered('one', 's'), ['Sales', 'service'])
    assert.deepEqual(await offered('some', 'red,gre'), ['red,green', 'red,grey'])
    assert.deepEqual(await offered('some', 'green,gr'), ['green,grey'])
    assert.deepEqual(await offered('flag', 't'), ['true'])
    assert.deepEqual(await offered('free', 'la'), ['last month'])
    assert.deepEqual(await offered('who', ''), ['ACME', 'Anvil Works', 'Secret Ltd'])
    assert.deepEqual(await offered('who', '', hr), ['ACME', 'Anvil Works'])
    assert.deepEqual(await offered('who', 'An', hr), ['Anvil Works'])
    // A text, but its name says what it names.
    assert.deepEqual(await offered('doctype_name', ''), ['Customer'])
    await assert.rejects(library.for(sales).complete(sales, 'x', 'on', ''), {
      code: 'invalid',
      message: /did you mean "one"/,
    })
    await assert.rejects(library.for(sales).complete(sales, 'y', 'one', ''), { code: 'not_found' })
  })

  it('gives at most a hundred values and the total', async (t) => {
    const values = Array.from({ length: 150 }, (_, index) => `v${index}`).join(', ')
    const { library } = await openWith(t, {
      'prompts/x.md': template(
        `arguments:\n  - { argument_name: one, argument_type: select, allowed_values: '${values}' }`,
        '{{ one }}',
      ),
    })
    const { values: offered, total } = await library.for(sales).complete(sales, 'x', 'one', 'v')
    assert.deepEqual([offered.length, total], [100, 150])
  })
})
