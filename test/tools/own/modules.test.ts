/** A module of the site can do what it likes: it costs its own tools, for a while, and nothing else. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { systemClock } from '#leaf/clock.ts'
import type { Principal } from '../../../src/core/principal.ts'
import { Stop } from '#leaf/stop.ts'
import { createDocument } from '../../../src/documents/writing/creating.ts'
import { getDocument } from '../../../src/documents/asking/reading.ts'
import { type Fault, faultText } from '#site/site-files.ts'
import { OwnTools } from '../../../src/tools/own/own-tools.ts'
import { readOwnTools } from '../../../src/tools/own/read-own-tools.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import { readPeople } from '../../../src/users/read-people.ts'
import { temporaryFolder } from '../../helpers/daemon.ts'
import { plain, silent, siteOf, someone } from '../../documents/trading-company.ts'
import { boss, contextOf, open, until } from './own-office.ts'

const tool = (name: string, run: string, before = '') => `${before}
export function tools({ defineTool, AppError }) {
  return [
    defineTool({
      name: '${name}', title: 'Own', description: 'Does what its author wrote.', category: 'read_only',
      input: { type: 'object' },
      run: async (args, context) => { ${run} },
    }),
  ]
}
`

/** Modules in a folder, by the names of their files, as a service has them. */
async function withModules(
  t: TestContext,
  modules: Record<string, string>,
  texts: Record<string, string> = {},
  parts: { tick?: number; serves?: boolean } = {},
) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'tools'))
  const assets = new Map<string, Uint8Array>()
  for (const [name, text] of Object.entries(modules)) {
    writeFileSync(join(folder, 'tools', name), text)
    assets.set(`tools/${name}`, Buffer.from(text))
  }
  return await open(t, texts, { folder, assets }, parts)
}

describe('a module that fails', () => {
  const good = tool('good', `return 'well'`)
  const bad: readonly (readonly [what: string, text: string, place: RegExp, problem: RegExp])[] = [
    [
      'a promise that is rejected and that nobody awaits',
      tool('bad', 'note(); return { ok: 1 }', `async function note() { throw new Error('boom') }`),
      /bad\.ts:1:31$/,
      /^boom$/,
    ],
    [
      'a timer that throws',
      tool('bad', `setTimeout(() => { throw new Error('boom') }, 5); await new Promise(() => {})`),
      /bad\.ts:7:64$/,
      /^boom$/,
    ],
    ['process.exit()', tool('bad', 'process.exit(0)'), /bad\.ts:7:47$/, /process\.exit\(\) was called/],
    [
      'a loop without end',
      tool('bad', 'while (spins(args)) args.n = 1', 'const spins = (args) => args.never !== 1'),
      /bad\.ts:[17]:\d+$/,
      /it loops/,
    ],
    [
      'more memory than a module may have',
      tool('bad', 'const kept = []; for (;;) kept.push(new Array(100_000).fill(kept.length))'),
      /bad\.ts:1:1$/,
      /needs more than the 256 MB/,
    ],
    [
      'nonsense to the daemon',
      tool('bad', `(await import('node:fs')).writeSync(3, 'x\\n'); await new Promise(() => {})`),
      /bad\.ts:1:1$/,
      /it sent what is no message/,
    ],
    [
      'a signal to itself',
      tool('bad', `process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})`),
      /bad\.ts:1:1$/,
      /its process ended by itself \(SIGKILL\)/,
    ],
  ]

  for (const [what, text, place, problem] of bad)
    it(`at a call, by ${what}, answers the call with file and line, and runs again`, async (t) => {
      const { call, own, warnings, events } = await withModules(
        t,
        { 'bad.ts': text, 'good.ts': good },
        {},
        what.includes('loop') ? { tick: 1000 } : {},
      )
      const { text: said, isError } = await call(plain, 'bad')
      assert.equal(isError, true)
      const at = /failed at (tools\/\S+);/.exec(said)?.[1] ?? said
      assert.match(at, place)
      const [trouble] = own.troubles
      assert.match(trouble!.fault.message, problem)
      assert.equal(`${trouble!.fault.file}:${trouble!.fault.line}:${trouble!.fault.column}`, at)
      assert.deepEqual(trouble!.tools, ['bad'])
      assert.match(JSON.stringify(warnings), new RegExp(at.replaceAll('.', '\\.')))
      assert.deepEqual(
        events.map(({ target, status }) => [target, status]),
        [['bad', 'error']],
      )
      assert.equal((await call(plain, 'good')).text, 'well', 'others go on')
      const again = await until(
        async () => (await call(plain, 'bad')).text,
        (text) => text.includes('failed at'),
      )
      assert.match(again, /failed at/, 'it was started again, and fails again')
    })

  const later: readonly (readonly [what: string, line: string, told: RegExp])[] = [
    ['a timer that throws', `throw new Error('later')`, /^tools\/bad\.ts:1:44 later$/],
    ['a rejected promise', `void Promise.reject(new Error('later'))`, /^tools\/bad\.ts:1:58 later$/],
    ['process.exit()', 'process.exit(3)', /^tools\/bad\.ts:1:46 process\.exit\(\) was called$/],
    ['a loop', 'while (globalThis.never !== 1) globalThis.n = 1', /^tools\/bad\.ts:1:\d+ it loops/],
  ]
  for (const [what, line, told] of later)
    it(`between calls, by ${what}, is noticed before anybody calls, and a call that is answered makes it well`, async (t) => {
      const text = tool(
        'bad',
        `if (args.arms) arm(); return 'well'`,
        `const arm = () => setTimeout(() => { ${line} }, 200)`,
      )
      const { call, own, warnings } = await withModules(t, { 'bad.ts': text }, {}, { tick: 1000 })
      assert.equal((await call(plain, 'bad', { arms: true })).text, 'well')
      const [trouble] = await until(
        () => own.troubles,
        (found) => found.length > 0,
      )
      assert.match(faultText(trouble!.fault), told)
      const [[message, fields]] = warnings as [[string, { place: string; tools: string[] }]]
      assert.equal(message, 'tools of the site do not work')
      assert.deepEqual(fields.tools, ['bad'])
      assert.ok(faultText(trouble!.fault).startsWith(`${fields.place} `), fields.place)
      const again = await until(
        async () => (await call(plain, 'bad')).text,
        (said) => said === 'well',
      )
      assert.equal(again, 'well')
      assert.deepEqual(own.troubles, [])
    })

  it('in one call is told where, unless it says what the model is to read', async (t) => {
    const { call, own } = await withModules(t, {
      'own.ts': tool(
        'own',
        `if (args.n) throw new AppError('invalid', 'no such n'); throw new Error('secret')`,
      ),
    })
    const hidden = await call(plain, 'own')
    assert.match(hidden.text, /^own failed at tools\/own\.ts:7:\d+; it was logged as request/)
    assert.doesNotMatch(hidden.text, /secret/)
    assert.equal((await call(plain, 'own', { n: 1 })).text, 'no such n')
    assert.deepEqual(own.troubles, [], 'the module itself is well')
  })

  const atLoad: readonly (readonly [what: string, line: string, told: RegExp])[] = [
    ['throwing', `throw new Error('boom')`, /^tools\/bad\.ts:2:7 cannot be run: boom$/],
    ['a rejected promise', `Promise.reject(new Error('boom'))`, /^tools\/bad\.ts:2:16 cannot be run: boom$/],
    ['a timer', `setTimeout(() => { throw new Error('boom') })`, /^tools\/bad\.ts:2:26 cannot be run: boom$/],
    ['process.exit()', 'process.exit(1)', /^tools\/bad\.ts:2:9 cannot be run: process\.exit\(\) was called$/],
    [
      'a loop',
      'while (globalThis.never !== 1) globalThis.n = 1',
      /^tools\/bad\.ts:2:\d+ cannot be run: it loops/,
    ],
    ['memory', 'const kept = []; for (;;) kept.push(new Array(1e5).fill(1))', /cannot be run: it needs more/],
    [
      'waiting for ever',
      'await new Promise(() => {})',
      /^tools\/bad\.ts:1:1 cannot be run: it is not loaded/,
    ],
    ['having no tools', 'export const tools = 1', /cannot be run: must export a function "tools"/],
  ]
  for (const [what, line, told] of atLoad)
    it(`when it is read, by ${what}, is a fault at its place`, async (t) => {
      const site = siteOf({ 'config/roles.yaml': 'roles: []' })
      const folder = temporaryFolder(t)
      mkdirSync(join(folder, 'tools'))
      writeFileSync(
        join(folder, 'tools/bad.ts'),
        `// the first line\n${line}\n${what === 'having no tools' ? '' : 'export const tools = () => []'}\n`,
      )
      const own = new OwnTools({
        log: silent,
        clock: systemClock,
        tick: what === 'waiting for ever' ? 300 : 1000,
      })
      t.after(() => own.close())
      const faults: Fault[] = []
      const assets = new Map([['tools/bad.ts', Buffer.from('')]])
      await readOwnTools({ ...site, assets }, { faults, warnings: [] }, readPeople(site, []), [], (file) =>
        own.module(folder, file, 128),
      )
      assert.equal(faults.length, 1, faults.map(faultText).join('\n'))
      assert.match(faultText(faults[0]!), told)
    })

  it('when the service starts, since what it needs is away, has no tools until that is back', async (t) => {
    const needed = join(temporaryFolder(t), 'needed')
    const text = tool(
      'own',
      `return 'well'`,
      `import { readFileSync } from 'node:fs'; readFileSync('${needed}')`,
    )
    const { own, tools } = await withModules(t, { 'own.ts': text }, {}, { serves: true })
    assert.deepEqual(tools, [])
    assert.match(faultText(own.troubles[0]!.fault), /^tools\/own\.ts:1:\d+ ENOENT/)
    writeFileSync(needed, '')
    let changes = 0
    own.follow(() => changes++)
    assert.ok(await until(() => changes, Boolean), 'by itself')
    assert.equal(await own.retry(), true, 'others are to be offered than before')
  })
})

const orders = `doctype: Order
naming: { rule: field, field: title }
submittable: true
fields:
  - { fieldname: title, type: text, required: true }
  - { fieldname: amount, type: integer }
  - { fieldname: limit, type: integer, visible_to: [Boss] }
permissions:
  - { role: Boss, actions: [read, write, create, submit, report] }
  - { role: Clerk, actions: [read, write, create, report], if_owner: true }
`
const clerk = someone('clerk@example.com', 'Clerk')

describe('a module', () => {
  const verbs = (category: string) =>
    tool('verbs', 'return await context.documents[args.verb](args.wanted)').replace('read_only', category)

  async function withOrders(t: TestContext, modules: Record<string, string>) {
    const service = await withModules(t, modules, { 'config/doctypes/order.yaml': orders })
    const act = (who: Principal, name: string) => async (verb: string, wanted: object) =>
      (await service.call(who, name, { verb, wanted: { doctype: 'Order', ...wanted } })).text
    const { events } = service
    await createDocument(service.documents, boss, 'Order', { title: 'theirs', amount: 7, limit: 90 })
    events.length = 0
    return { ...service, act }
  }

  it('reaches documents as who asks may use them: by their rules, with their masks, told as theirs', async (t) => {
    const { act, events, documents } = await withOrders(t, { 'own.ts': verbs('write') })
    const mine = act(clerk, 'verbs')
    const created = JSON.parse(await mine('create', { data: { title: 'mine', amount: 3 } }))
    assert.equal(created.name, 'mine')
    assert.deepEqual(JSON.parse(await mine('list', { fields: ['title', 'limit'] })).data, [
      { name: 'mine', title: 'mine', limit: '[masked]' },
    ])
    assert.equal(JSON.parse(await mine('get', { name: 'mine' })).data.limit, '[masked]')
    assert.match(await mine('get', { name: 'theirs' }), /there is no Order "theirs" that you may read/)
    assert.match(await mine('update', { name: 'theirs', data: { amount: 1 } }), /there is no Order "theirs"/)
    assert.deepEqual(JSON.parse(await mine('update', { name: 'mine', data: { amount: 4 } })).updated_fields, [
      'amount',
    ])
    assert.match(await mine('submit', { name: 'mine' }), /not submit it/)
    const sum = { metrics: [{ function: 'sum', field: 'amount' }] }
    assert.equal(JSON.parse(await mine('aggregate', sum)).data[0].sum_amount, 4)
    assert.match(await mine('aggregate', { metrics: [{ function: 'sum', field: 'limit' }] }), /limit/)
    const search = { doctype: undefined, query: 'theirs mine' }
    assert.deepEqual(
      JSON.parse(await mine('search', search)).results.map(({ name }: { name: string }) => name),
      ['mine'],
    )
    assert.match(await mine('list', { limit: 'many' }), /documents\.list: limit: must be number/)
    assert.match(await mine('list', { doctype: 'Order', where: 1 }), /documents\.list: where/)
    const ours = act(boss, 'verbs')
    assert.equal(JSON.parse(await ours('get', { name: 'theirs' })).data.limit, 90)
    assert.equal(JSON.parse(await ours('submit', { name: 'theirs' })).docstatus, 1)
    const told = events.map(({ type, user, target }) => [type, user, target])
    assert.ok(
      told.some((event) => isDeepStrictEqual(event, ['document.create', clerk.user, 'Order/mine'])),
      JSON.stringify(told),
    )
    assert.equal((await getDocument(documents, boss, 'Order', 'mine'))['amount'], 4)
  })

  it('changes nothing by a tool that says it only reads, and reaches nothing raw', async (t) => {
    const raw = tool('raw', 'return [Object.keys(context), Object.keys(context.documents)]')
    const { act, call, events } = await withOrders(t, { 'own.ts': verbs('read_only'), 'raw.ts': raw })
    const said = await act(boss, 'verbs')('create', { data: { title: 'new' } })
    assert.match(said, /documents\.create: a tool of the category read_only changes nothing/)
    assert.deepEqual(
      events.map(({ type, status }) => [type, status]),
      [['tool.call', 'denied']],
    )
    assert.match(await act(boss, 'verbs')('get', { name: 'new' }), /there is no Order/)
    const [context, documents] = JSON.parse((await call(boss, 'raw')).text) as string[][]
    assert.deepEqual(documents, ['list', 'get', 'create', 'update', 'submit', 'aggregate', 'search'])
    assert.ok(!context!.includes('library') && !context!.includes('store'))
  })

  it('acts for nobody whose call has ended, and as nobody else', async (t) => {
    const keeping = tool(
      'verbs',
      `if (!args.wanted) { kept = context.documents; return 'kept' }
      return await kept[args.verb](args.wanted)`,
      'let kept',
    ).replace('read_only', 'write')
    const { call, act } = await withOrders(t, { 'own.ts': keeping })
    assert.equal((await call(boss, 'verbs')).text, 'kept')
    assert.match(await act(clerk, 'verbs')('get', { name: 'theirs' }), /the call has ended/)
    assert.match(
      await act(clerk, 'verbs')('update', { name: 'theirs', data: { amount: 0 } }),
      /the call has ended/,
    )
  })

  it('calls other tools, tells its progress, and hears that its caller left', async (t) => {
    const far = tool(
      'far',
      `context.progress(1, 2, 'half'); context.log('info', { text: 'so far' })
      const { text } = await context.callTool('near', { n: 4 })
      if (!args.wait) return { text, by: context.principal.user, clerk: context.principal.roles.has('Clerk') }
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve)); left++`,
      'let left = 0',
    )
    const near = tool('near', 'return args.n * 2')
    const { call, documents } = await withModules(t, { 'far.ts': far, 'near.ts': near })
    const told: unknown[] = []
    const progress = (...params: unknown[]): unknown => told.push(params)
    const { text } = await call(clerk, 'far', {}, { progress, log: progress })
    assert.equal(text, '{"text":"8","by":"clerk@example.com","clerk":true}')
    assert.deepEqual(told, [
      [1, 2, 'half'],
      ['info', { text: 'so far' }],
    ])
    const leaving = new Stop()
    const waiting = call(clerk, 'far', { wait: true }, { stop: leaving })
    setTimeout(() => leaving.end(new Error('cancelled')), 200)
    assert.equal((await waiting).isError, true)
    void documents
  })

  it('that is edited is another, and the one before ends when its calls are done', async (t) => {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'tools'))
    const write = (text: string): void => writeFileSync(join(folder, 'tools/own.ts'), text)
    const own = new OwnTools({ log: silent, clock: systemClock })
    t.after(() => own.close())
    const read = async (): Promise<readonly Fault[] | readonly Tool[]> => {
      const site = { ...siteOf({}), folder, assets: new Map([['tools/own.ts', Buffer.from('')]]) }
      const faults: Fault[] = []
      const definitions = await readOwnTools(
        site,
        { faults, warnings: [] },
        readPeople(site, []),
        [],
        (file) => own.module(folder, file, 256),
      )
      if (faults.length === 0) return await own.open(definitions)
      own.discard()
      return faults
    }
    const runs = async ([first]: Awaited<ReturnType<typeof read>>, args: unknown): Promise<unknown> =>
      'run' in first! ? await first.run(args, contextOf(boss)) : faultText(first!)
    write(tool('own', `await new Promise((go) => setTimeout(go, args.ms)); return [process.pid, 1]`))
    const before = await read()
    const [pid] = (await runs(before, { ms: 0 })) as [number]
    assert.deepEqual(await runs(await read(), { ms: 0 }), [pid, 1], 'an equal text is the same process')
    write(`throw new Error('broken')`)
    assert.equal(await runs(await read(), {}), 'tools/own.ts:1:7 cannot be run: broken')
    assert.deepEqual(await runs(before, { ms: 0 }), [pid, 1], 'the last good one goes on')
    const slow = runs(before, { ms: 1000 })
    write(tool('own', 'return [process.pid, 2]'))
    const [other, answer] = (await runs(await read(), {})) as [number, number]
    assert.notEqual(other, pid)
    assert.equal(answer, 2)
    assert.deepEqual(await slow, [pid, 1], 'what was called is answered')
    const isGone = (): boolean => !existsSync(`/proc/${pid}`)
    assert.ok(await until(isGone, Boolean))
  })
})
