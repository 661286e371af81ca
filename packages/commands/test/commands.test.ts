/** What the package promises, on a made-up program of three operations: a shop whose till is a socket. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { askerOf, listenAt, type Run } from '#commands/asking.ts'
import { asks, commandsWith, takes, type RunnableCommand } from '#commands/description.ts'
import { programOf, runProgram, type ProgramDescription } from '#commands/program.ts'
import { carryOut, onceStep, ownStep, removalStep, systemdStep } from '#commands/steps.ts'
import { facts, columns, table } from '#commands/terminal.ts'
import { AppError } from '#leaf/errors.ts'

interface Options {
  readonly json: boolean
  readonly shop?: string
}

const defineCommand = commandsWith<Options>()

const shelf = [
  { name: 'tea', price: 4, sold_out: false },
  { name: 'a\u001b[2J', price: 12, sold_out: true },
]

const sell = defineCommand({
  name: 'goods sell',
  does: 'sell something',
  examples: ['goods sell tea -n 2', 'goods sell tea --to "the neighbour"'],
  input: takes({
    name: '<name>',
    count: asks('-n <count>: how many', { default: 1 }),
    to: '--to <person>!: who buys it',
    since: '--since <moment>: when',
    wrap: asks('--wrap <paper>: in what', { enum: ['brown', 'red'] }),
    note: '--note <name=value>: what to write on it; repeatable',
  }),
  run: async ({ name, count, to, ...rest }, { shop }) => {
    if (name.startsWith('gold')) throw new AppError('not_found', `there is no ${name}`)
    if (name === 'nothing') throw Object.assign(new Error('EACCES'), { code: 'EACCES', path: '/till' })
    if (name === 'bug') throw new TypeError('a slip')
    return { name, count, to, shop: shop ?? null, ...rest }
  },
  failure: ({ count }) => count === 0 && 'nothing was sold',
})

const list = defineCommand({
  name: 'goods list',
  does: 'list what there is',
  input: takes({ names: '[names...]' }),
  run: async ({ names = [] }) => shelf.filter(({ name }) => names.length === 0 || names.includes(name)),
  text: columns('name, costs: price, gone: sold_out'),
})

const close = defineCommand({
  name: 'close',
  does: 'close the shop',
  input: takes({ now: asks('--now: at once', { enum: [true] }) }),
  run: async () => ({ closed: true }),
  text: () => ['closed', 'good night'],
})

function shop(commands: ProgramDescription<Options>['commands'] = [sell, list, close]) {
  return programOf<Options>({
    name: 'corner-shop',
    does: 'a shop',
    version: '1.0.0',
    options: { '--shop <name>': 'which shop' },
    read: ({ json = false, ...rest }) => ({ json: json === true, ...(rest as Pick<Options, 'shop'>) }),
    commands,
    outline: [['sell list', 'goods', 'what is sold'], ['close completion manual']],
    exits: { 9: 'It burns.' },
    sections: { FILES: { '/till': 'The money.' } },
    after: 'Open from eight.',
  })
}

/** Runs a command line in this process, and returns what it wrote and its exit code. */
async function run(t: TestContext, ...words: string[]) {
  let out = ''
  let err = ''
  const streams = [
    t.mock.method(process.stdout, 'write', (text: string) => ((out += text), true)),
    t.mock.method(process.stderr, 'write', (text: string) => ((err += text), true)),
  ]
  const before = process.exitCode
  process.exitCode = undefined
  await runProgram(['node', 'corner-shop', ...words], shop, ({ code }) => (code === 'not_found' ? 9 : 1))
  const code = process.exitCode ?? 0
  process.exitCode = before
  for (const { mock } of streams) mock.restore()
  process.stdout.removeAllListeners('error')
  return { code, out, err }
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'commands-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

describe('a command line', () => {
  it('reads arguments as their schema says, before or after the options of the program', async (t) => {
    const words = [
      'goods',
      'sell',
      'tea',
      '-n',
      '2',
      '--to',
      'Ann',
      '--note',
      'a=b',
      '--note',
      'c=d=e',
      '--json',
    ]
    const { code, out } = await run(t, '--shop', 'north', ...words, '--since', '2026-01-31T00:00Z')
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), {
      name: 'tea',
      count: 2,
      to: 'Ann',
      shop: 'north',
      since: Date.parse('2026-01-31'),
      note: { a: 'b', c: 'd=e' },
    })
  })

  it('prints tables, facts and words; what moves the cursor is pictured', async (t) => {
    const rows = await run(t, 'goods', 'list')
    assert.equal(rows.out, 'NAME   COSTS  GONE\ntea    4      no\na␛[2J  12     yes\n')
    assert.equal((await run(t, 'goods', 'list', 'milk')).out, 'no names\n')
    assert.equal(
      (await run(t, 'goods', 'sell', 'tea', '--to', 'Ann')).out,
      'name   tea\ncount  1\nto     Ann\nshop   -\n',
    )
    assert.equal((await run(t, 'close')).out, 'closed\ngood night\n')
    assert.equal(table([], [['user', () => '']]), 'no users')
    // A name with nothing behind it looks like a text that was lost.
    assert.equal(facts({ addresses: [], label: '' }), 'addresses  -\nlabel      -')
  })

  it('ends with the code of its fault, and says nothing of it on standard output', async (t) => {
    for (const [words, code, told] of [
      [['goods', 'sell', 'gold', '--to', 'Ann'], 9, /^corner-shop: error: there is no gold\n$/],
      [
        ['goods', 'sell', 'gold\u001b[2J\r\n\tx', '--to', 'Ann'],
        9,
        /^corner-shop: error: there is no gold␛\[2J␍\n\tx\n$/,
      ],
      [['goods', 'sell', 'nothing', '--to', 'Ann'], 1, /error: no permission for \/till; run this as/],
      [['goods', 'sell', 'bug', '--to', 'Ann'], 1, /internal error: TypeError: a slip\n +at /],
      [['goods', 'sell', 'tea'], 2, /required option '--to <person>' not specified/],
      [['goods', 'sell', 'tea', '--to', 'Ann', '-n', 'two'], 2, /must be a whole number/],
      [['goods', 'sell', 'tea', '--to', 'Ann', '--since', 'soon'], 2, /must be a date such as/],
      [['goods', 'sell', 'tea', '--to', 'Ann', '--wrap', 'blue'], 2, /Allowed choices are brown, red/],
      [['goods', 'sell', 'tea', '--to', 'Ann', '--note', 'a'], 2, /must be name=value/],
      [['good'], 2, /Did you mean goods\?/],
      [['help', 'goods', 'sel'], 2, /Did you mean sell\?/],
    ] as const) {
      const ended = await run(t, ...words)
      assert.equal(ended.code, code, words.join(' '))
      assert.match(ended.err, told)
      assert.equal(ended.out, '')
    }
  })

  it('prints its result and fails all the same where the result is a failure', async (t) => {
    const { code, out, err } = await run(t, 'goods', 'sell', 'tea', '--to', 'Ann', '-n', '0', '--json')
    assert.deepEqual([code, (JSON.parse(out) as { count: number }).count], [1, 0])
    assert.equal(err, 'corner-shop: error: nothing was sold\n')
  })

  it('has help of one and of all, completion and a manual page, of the same descriptions', async (t) => {
    const help = await run(t, 'help', 'goods', 'sell')
    assert.equal(help.code, 0)
    assert.match(
      help.out,
      /-n <count> +how many \(default: 1\)[^]*Examples:\n {2}\$ corner-shop goods sell tea -n 2\n/,
    )
    assert.match((await run(t, '--help')).out, /--json[^]*goods +what is sold[^]*Open from eight\./)
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { out } = await run(t, 'completion', shell)
      for (const word of ['goods', 'sell', 'wrap', 'corner-shop', 'shop'])
        assert.ok(out.includes(word), `${shell} ${word}`)
    }
    const { out: page } = await run(t, 'manual')
    assert.match(page, /^\.TH CORNER-SHOP 1 "" "corner-shop 1\.0\.0"/)
    assert.match(page, /\\fBcorner-shop goods sell\\fR <name>\nSell something\./)
    assert.match(
      page,
      /\.SH EXIT STATUS\n\.TP\n\.B 0\nDone\.[^]*\.B 9\nIt burns\.\n\.SH FILES\n\.TP\n\.B \/till\nThe money\./,
    )
  })

  it('is refused whole where a command has no place in the outline', () => {
    const lost: RunnableCommand<never, unknown, Options> = { ...close, name: 'open' }
    assert.throws(() => shop([sell, list, close, lost]), /no place in the outline for: open/)
  })
})

const till = {
  add: { run: async ({ one, two }: { one: number; two: number }) => one + two },
  count: {
    run: async (_params: { to: number }): Promise<AsyncIterable<number>> => (async function* () {})(),
  },
  fail: { run: async (_params: { how: string }) => undefined },
}

/** The operations of the till; `ended` says how its stream ended. */
function tillRun(ended: string[] = []): Run {
  return async (name, params, { actor, signal }) => {
    assert.notEqual(actor, '')
    if (name === 'add') return till.add.run(params as { one: number; two: number })
    if (name === 'fail') {
      if ((params as { how: string }).how === 'known')
        throw new AppError('conflict', 'it is shut', { data: { until: 8 } })
      throw new TypeError('a slip')
    }
    if (name !== 'count') throw new AppError('not_found', `no operation "${name}"`)
    return (async function* () {
      signal.addEventListener('abort', () => ended.push('left'))
      for (let at = 1; at <= (params as { to: number }).to; at++) yield at
      ended.push('whole')
    })()
  }
}

describe('asking', () => {
  const asker = (path: string, open: () => Promise<{ run: Run; close(): Promise<void> }>) =>
    askerOf<typeof till, object>({ socket: () => path, open })
  const nowhere = () => Promise.reject(new Error('nobody opens anything here'))

  it('is answered by who listens: results, streams, known faults and bugs, and only its owner may', async (t) => {
    const path = join(folderOf(t), 'till.sock')
    const failed: unknown[] = []
    const pages = { '/money': async () => ({ type: 'text/plain', text: '12' }) }
    const listening = await listenAt(path, { run: tillRun(), pages, failed: (error) => failed.push(error) })
    t.after(listening.close)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    const { operate, stream, askRunning, converse } = asker(path, nowhere)
    assert.equal(await operate({}, 'add', { one: 1, two: 2 }), 3)
    const items: number[] = []
    for await (const item of stream({}, 'count', { to: 3 })) items.push(item)
    assert.deepEqual(items, [1, 2, 3])
    assert.equal(
      await converse(
        {},
        async (ask) => (await ask('add', { one: 1, two: 2 })) + (await ask('add', { one: 3, two: 4 })),
      ),
      10,
    )
    await assert.rejects(askRunning({}, 'fail', { how: 'known' }), {
      code: 'conflict',
      message: 'it is shut',
      data: { until: 8 },
    })
    await assert.rejects(askRunning({}, 'fail', { how: 'badly' }), (error) => !(error instanceof AppError))
    assert.equal(failed.length, 1)
    await assert.rejects(operate({}, 'lost' as 'add', { one: 1, two: 2 }), { code: 'not_found' })
    const answer = await new Promise<string>((resolve) => {
      let told = ''
      const socket = createConnection(path, () =>
        socket.write('GET /money HTTP/1.1\r\nhost: till\r\nconnection: close\r\n\r\n'),
      )
      socket.on('data', (text: Buffer) => (told += text.toString())).on('close', () => resolve(told))
    })
    assert.match(answer, /content-type: text\/plain[^]*12$/)
  })

  it('is not cut where a text that somebody wrote separates lines for Unicode', async (t) => {
    const path = join(folderOf(t), 'till.sock')
    const run: Run = async (_name, params) => [params]
    const listening = await listenAt(path, { run, pages: {}, failed: () => {} })
    t.after(listening.close)
    const text = { how: 'one\u2028two\u2029three\u0085four\r' }
    assert.deepEqual(await asker(path, nowhere).operate({}, 'fail', text), [text])
  })

  it('ends the work of who answers when nobody reads on, and takes a broken answer for none', async (t) => {
    const path = join(folderOf(t), 'till.sock')
    const ended: string[] = []
    const listening = await listenAt(path, { run: tillRun(ended), pages: {}, failed: () => {} })
    const { stream } = asker(path, nowhere)
    for await (const at of stream({}, 'count', { to: 10_000_000 })) if (at === 5) break
    while (ended.length === 0) await new Promise((done) => setImmediate(done))
    assert.deepEqual(ended, ['left'])
    await assert.rejects(
      async () => {
        for await (const at of stream({}, 'count', { to: 10_000_000 })) if (at === 5) await listening.close()
      },
      { code: 'unavailable', message: 'the daemon stopped before it answered' },
    )
  })

  it('runs here where nobody listens, closes what it opened, and waits for another that holds it', async (t) => {
    const path = join(folderOf(t), 'till.sock')
    let opened = 0
    let closed = 0
    let isHeld = true
    const { operate, converse, askRunning } = asker(path, async () => {
      opened++
      if (isHeld) {
        isHeld = false
        throw new AppError('conflict', 'process 1 has it', { data: { pid: 1 } })
      }
      return { run: tillRun(), close: async () => void closed++ }
    })
    assert.equal(await askRunning({}, 'add', { one: 1, two: 2 }), undefined)
    assert.equal(await operate({}, 'add', { one: 1, two: 2 }), 3)
    assert.deepEqual([opened, closed], [2, 1])
    isHeld = true
    assert.equal(
      await converse(
        {},
        async (ask) => (await ask('add', { one: 1, two: 2 })) + (await ask('add', { one: 3, two: 4 })),
      ),
      10,
    )
    assert.deepEqual([opened, closed], [4, 2])
    await assert.rejects(operate({}, 'fail', { how: 'known' }), { code: 'conflict' })
    assert.deepEqual([opened, closed], [5, 3])
  })
})

describe('steps', () => {
  it('are shown, and done only when they are wanted; what people changed stays', async (t) => {
    const folder = folderOf(t)
    const [own, once] = [join(folder, 'etc/own'), join(folder, 'etc/once')]
    const steps = () => [
      ownStep([own, 'new', 0o755]),
      onceStep(once, 'mine', 'a first one'),
      systemdStep('systemctl x', folder),
    ]
    const wish = { root: folder, yes: true }
    let out = ''
    t.mock.method(process.stdout, 'write', (text: string) => ((out += text), true))
    t.mock.method(process.stderr, 'write', () => true)
    await carryOut(steps(), { ...wish, dryRun: true }, { json: false }, 'done')
    assert.throws(() => statSync(own), { code: 'ENOENT' })
    assert.equal(
      out,
      `write   ${own}\nwrite   ${once}   (a first one)\nskip    systemctl x   (not in a folder)\n`,
    )
    await carryOut(steps(), wish, { json: true }, 'done')
    assert.deepEqual([readFileSync(own, 'utf8'), statSync(own).mode & 0o777], ['new', 0o755])
    assert.deepEqual(
      steps().map(({ action }) => action),
      ['keep', 'keep', 'skip'],
    )
    writeFileSync(own, 'changed')
    assert.equal(ownStep([own, 'new']).why, 'replaces another version')
    assert.equal(removalStep([own, 'new'], 'was changed').action, 'keep')
    await carryOut([removalStep([own, 'changed'], '')], wish, { json: false }, 'done')
    assert.throws(() => statSync(own), { code: 'ENOENT' })
  })
})
