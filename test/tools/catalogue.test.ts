import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { AppError } from '#leaf/errors.ts'
import { Stop } from '#leaf/stop.ts'
import { countDocuments } from '../helpers/count-documents.ts'
import { readToolSettings } from '../../src/tools/gate/read-tools.ts'
import { faultText, type Fault } from '#site/site-files.ts'
import { readPeople } from '../../src/users/read-people.ts'
import { defineTool, type Tool, type ToolContext } from '../../src/tools/tool.ts'
import { admin, plain, sales, siteOf, someone } from '../documents/trading-company.ts'
import { skillOf } from '../mcp/server.ts'
import { openOffice } from './offices.ts'

/** A tool that answers what it is told to. */
function saying(name: string, run: Tool['run'], more: Partial<Tool> = {}): Tool {
  return {
    name,
    title: name,
    description: 'For a test.',
    category: 'read_only',
    input: { type: 'object', properties: { value: {} }, additionalProperties: false },
    run,
    ...more,
  }
}

const empty = siteOf({ 'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]' })

describe('an error', () => {
  it('does not repeat the whole of a name that its caller made up', async (t) => {
    const name = 'x'.repeat(1_000_000)
    const tool = saying('finds_nothing', () =>
      Promise.reject(new AppError('not_found', `there is no Customer "${name}"`)),
    )
    const { call } = await openOffice(t, { files: empty, tools: [tool] })
    const { text, isError } = await call(plain, 'finds_nothing')
    assert.ok(isError && text.length < 3000, `${text.length}`)
    assert.match(text, /^there is no Customer "x+…$/)
  })
})

describe('outputs', () => {
  const outputs: [string, unknown, string, boolean][] = [
    ['a text as it stands', 'Grüße "x"', 'Grüße "x"', false],
    ['compact JSON with other letters kept', { a: [1, 'é'], b: null }, '{"a":[1,"é"],"b":null}', false],
    [
      'dates and big integers as text',
      { at: new Date(0), n: 2n ** 70n },
      '{"at":"1970-01-01T00:00:00.000Z","n":"1180591620717411303424"}',
      false,
    ],
    [
      'decimals and what is not finite as text',
      {
        d: new (class {
          toString() {
            return '1.10'
          }
        })(),
        x: NaN,
      },
      '{"d":"1.10","x":"NaN"}',
      false,
    ],
    ['maps and sets', { m: new Map([['a', new Set([1])]]) }, '{"m":{"a":[1]}}', false],
    ['nothing', undefined, 'null', false],
    ['success false as a failure', { success: false, error: 'no' }, '{"success":false,"error":"no"}', true],
    ['success true as the tool’s own', { success: true, result: 1 }, '{"success":true,"result":1}', false],
  ]
  for (const [name, output, text, isError] of outputs)
    it(name, async (t) => {
      const { call } = await openOffice(t, {
        files: empty,
        tools: [saying('say', () => Promise.resolve(output))],
      })
      const outcome = await call(plain, 'say')
      assert.equal(outcome.text, text)
      assert.equal(outcome.isError, isError)
    })

  it('appends blocks and gives structured output where the tool declares it', async (t) => {
    const image = { type: 'image' as const, data: 'AA==', mimeType: 'image/png' }
    const { call } = await openOffice(t, {
      files: empty,
      tools: [
        saying('draw', () => Promise.resolve({ kind: 'rich', data: { n: 1 }, content: [image] })),
        saying('count', () => Promise.resolve({ n: 1n }), { output: { type: 'object' } }),
      ],
    })
    assert.deepEqual(await call(plain, 'draw'), { text: '{"n":1}', content: [image], isError: false })
    assert.deepEqual(await call(plain, 'count'), {
      text: '{"n":"1"}',
      content: [],
      structured: { n: '1' },
      isError: false,
    })
  })
})

describe('calls', () => {
  it('are audited with their time, conversation and arguments, secrets left out', async (t) => {
    const { call, events } = await openOffice(t, {
      files: empty,
      tools: [saying('say', () => Promise.resolve('x'))],
      toolsYaml: 'tools: { say: { redact: [value.note] } }',
    })
    await call(plain, 'say', { value: { password: 'p', note: 'n', other: 1 } })
    const [event] = events
    assert.equal(event?.type, 'tool.call')
    assert.equal(event?.status, 'ok')
    assert.equal(event?.target, 'say')
    assert.equal(event?.user, plain.user)
    assert.equal(event?.session_id, 'conversation-1')
    assert.equal(typeof event?.execution_time, 'number')
    // As the log has it: what is undefined is not written.
    assert.deepEqual(JSON.parse(JSON.stringify(event?.data)), {
      arguments: { value: { password: '[redacted]', note: '[redacted]', other: 1 } },
      result_bytes: 1,
      is_error: false,
    })
  })

  it('tell the model what it can mend, and never what broke inside', async (t) => {
    const { call, events, logged } = await openOffice(t, {
      files: empty,
      tools: [
        saying('refuse', () => Promise.reject(new AppError('forbidden', 'you may not'))),
        saying('busy', () => Promise.reject(new AppError('unavailable', 'no room'))),
        saying('break', () => Promise.reject(new TypeError('secret /etc/path'))),
      ],
    })
    const fault = { code: 'forbidden', problems: [] }
    assert.deepEqual(await call(plain, 'refuse'), { text: 'you may not', content: [], isError: true, fault })
    assert.equal((await call(plain, 'busy')).text, 'no room (try again later)')
    assert.equal((await call(plain, 'break')).text, 'internal error in break; it was logged as request req-1')
    assert.deepEqual(
      events.map(({ status }) => status),
      ['denied', 'error', 'error'],
    )
    assert.equal(logged.length, 1)
  })

  it('work with the library of their request, whatever a branch of it does meanwhile', async (t) => {
    const names = (library: ToolContext['library']): string[] => library.skills(plain).map(({ name }) => name)
    const { call } = await openOffice(t, {
      files: empty,
      tools: [
        saying('twice', async (_, { library, callTool }) => [
          ...names(library),
          ...(JSON.parse((await callTool('once', {})).text) as string[]),
        ]),
        saying('once', (_, { library }) => Promise.resolve(names(library))),
      ],
    })
    for (const name of ['stable', 'next']) {
      const library = { skills: () => [skillOf(name, {})] } as unknown as ToolContext['library']
      assert.equal((await call(plain, 'twice', {}, { library })).text, JSON.stringify([name, name]))
    }
  })

  it('end at their time limit, and keep their place until they really stop', async (t) => {
    let stop = (): void => undefined
    const { call, events } = await openOffice(t, {
      files: empty,
      tools: [saying('hang', () => new Promise((resolve) => (stop = () => resolve(1))), { timeout: 20 })],
      limits: { max_concurrent_per_user: 1 },
    })
    assert.match((await call(plain, 'hang')).text, /stopped after 0.02 seconds/)
    assert.equal(events[0]?.status, 'timeout')
    assert.match((await call(plain, 'hang')).text, /1 calls of yours are running already/)
    assert.match((await call(sales, 'hang')).text, /stopped after/)
    stop()
  })

  it('end at the limit that the site sets for their tool', async (t) => {
    const { call } = await openOffice(t, {
      files: empty,
      tools: [saying('hang', () => new Promise(() => undefined))],
      toolsYaml: 'tools:\n  hang: {timeout_seconds: 1}\n',
    })
    assert.match((await call(plain, 'hang')).text, /stopped after 1 seconds/)
  })

  it('of a tool by a tool go no further', async (t) => {
    const { call } = await openOffice(t, {
      files: empty,
      tools: [
        saying('first', async (_, { callTool }) => (await callTool('second', {})).text),
        saying('second', async (_, { callTool }) => (await callTool('third', {})).text),
        saying('third', () => Promise.resolve('reached')),
      ],
    })
    assert.match((await call(plain, 'first')).text, /cannot call further ones/)
    assert.equal((await call(plain, 'second')).text, 'reached')
  })

  it('are told when the caller has gone', async (t) => {
    let aborted = false
    const { call } = await openOffice(t, {
      files: empty,
      tools: [
        saying('hang', async (_, { signal }) => {
          await wait(10_000, undefined, { signal }).catch(() => (aborted = true))
        }),
      ],
    })
    const caller = new Stop()
    const running = call(plain, 'hang', {}, { stop: caller })
    caller.end(new Error('gone'))
    assert.equal((await running).text, 'cancelled')
    await wait(5)
    assert.ok(aborted)
  })

  it('have what they ask of the documents ended with the call', async (t) => {
    const answers: unknown[] = []
    const { call } = await openOffice(t, {
      tools: [
        saying('ask', async (_, { documents, principal, signal }) => {
          const ask = async (): Promise<unknown> =>
            answers.push(await countDocuments(documents, principal, 'Task').catch((error: unknown) => error))
          await ask()
          caller.end(gone)
          await wait(10_000, undefined, { signal }).catch(() => undefined)
          await ask()
        }),
      ],
    })
    const caller = new Stop()
    const gone = new Error('gone')
    assert.equal((await call(admin, 'ask', {}, { stop: caller })).text, 'cancelled')
    await wait(5)
    assert.equal(typeof answers[0], 'number')
    assert.equal(answers[1], gone)
  })

  it('refuse an answer beyond the byte budget rather than cut it', async (t) => {
    const { call } = await openOffice(t, {
      files: empty,
      tools: [
        saying('full', () => Promise.resolve('x'.repeat(1000))),
        saying('big', () => Promise.resolve('x'.repeat(2000))),
      ],
      limits: { max_result_bytes: 1000 },
    })
    assert.equal((await call(plain, 'full')).text.length, 1000)
    const outcome = await call(plain, 'big')
    assert.ok(outcome.isError)
    assert.match(outcome.text, /2000 bytes, more than the 1000 allowed/)
  })

  it('check arguments and name every problem', async (t) => {
    const tool = defineTool({
      name: 'strict',
      title: 'Strict',
      description: 'x',
      category: 'read_only',
      input: {
        type: 'object',
        additionalProperties: false,
        required: ['doctype'],
        properties: { doctype: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
      },
      run: async ({ doctype }) => await Promise.resolve(doctype),
    })
    const { call } = await openOffice(t, { files: empty, tools: [tool] })
    assert.match(
      (await call(plain, 'strict', { limit: 0, docktype: 'x' })).text,
      /"doctype" is required.*unknown key; did you mean "doctype"\?.*limit/,
    )
  })
})

describe('settings', () => {
  const tools = [
    saying('one', () => Promise.resolve(1)),
    saying('two', () => Promise.resolve(2), { roles: ['Boss'] }),
  ]
  const boss = someone('b', 'Boss')
  const listed: [string, string, Record<string, string>][] = [
    [
      'nothing said',
      '{}',
      { 'plain one': 'ok', 'plain two': 'forbidden', 'boss two': 'ok', 'admin two': 'ok' },
    ],
    ['disabled', 'tools: { one: { enabled: false } }', { 'plain one': 'disabled', 'admin one': 'disabled' }],
    [
      'restricted',
      'tools: { one: { roles: [Boss] } }',
      { 'plain one': 'forbidden', 'boss one': 'ok', 'admin one': 'ok' },
    ],
    ['widened', 'tools: { two: { roles: all } }', { 'plain two': 'ok' }],
    ['by pattern', 'tools: { "t*": { enabled: false } }', { 'boss two': 'disabled', 'boss one': 'ok' }],
    [
      'in a profile',
      'profiles: { few: { tools: [one] }, more: { roles: [Boss], tools: ["*"] } }',
      { 'plain one': 'ok', 'boss two': 'ok', 'admin two': 'forbidden' },
    ],
  ]
  for (const [name, toolsYaml, expected] of listed)
    it(`${name}: what is listed is what can be called`, async (t) => {
      const { catalogue, call } = await openOffice(t, { files: empty, tools, toolsYaml })
      const people: Record<string, typeof plain> = { plain, boss, admin }
      for (const [key, wanted] of Object.entries(expected)) {
        const [who, tool] = key.split(' ') as [string, string]
        const found = catalogue.find(people[who]!, tool)
        assert.equal(typeof found === 'string' ? found : 'ok', wanted, key)
        assert.equal(
          catalogue.offered(people[who]!).some((offered) => offered.tool.name === tool),
          wanted === 'ok',
          key,
        )
        assert.equal((await call(people[who]!, tool)).isError, wanted !== 'ok', key)
      }
      assert.equal(catalogue.find(plain, 'three'), 'unknown')
    })

  it('narrow a client, and give other digests', async (t) => {
    const { catalogue } = await openOffice(t, { files: empty, tools, toolsYaml: '{}' })
    const narrow = { ...boss, toolLimit: ['t*'] }
    assert.deepEqual(
      catalogue.offered(narrow).map(({ tool }) => tool.name),
      ['two'],
    )
    assert.equal(catalogue.find(narrow, 'one'), 'forbidden')
    assert.notEqual(catalogue.digest(narrow), catalogue.digest(boss))
    assert.equal(catalogue.digest(admin), catalogue.digest(boss))
  })

  it('are faults with their places when they name what is not there', () => {
    const files = siteOf({
      'config/tools.yaml':
        'tools:\n  onee: { enabled: yes }\n  one: { roles: [Bos], timeout: 3 }\nprofiles: { a: { tools: [tow] } }',
    })
    const faults: Fault[] = []
    const people = readPeople(files, faults)
    readToolSettings(files, faults, { names: tools.map((tool) => tool.name), people })
    const texts = faults.map(faultText)
    assert.ok(
      texts.some((text) => /^config\/tools.yaml:2:.*enabled: must be boolean/.test(text)),
      texts.join('\n'),
    )
    assert.ok(
      texts.some((text) => /^config\/tools.yaml:3:.*timeout: unknown key/.test(text)),
      texts.join('\n'),
    )
    const named: Fault[] = []
    readToolSettings(
      siteOf({
        'config/tools.yaml':
          'tools:\n  onee: { enabled: true }\n  one: { roles: [Bos] }\nprofiles: { a: { tools: [tow] } }',
      }),
      named,
      { names: tools.map((tool) => tool.name), people },
    )
    assert.deepEqual(named.map(faultText), [
      'config/tools.yaml:2:3 tools.onee: unknown tool "onee"; did you mean "one"?',
      'config/tools.yaml:3:18 tools.one.roles[0]: unknown role "Bos"; did you mean "Boss"?',
      'config/tools.yaml:4:26 profiles.a.tools[0]: unknown tool "tow"; did you mean "two"?',
    ])
  })
})
