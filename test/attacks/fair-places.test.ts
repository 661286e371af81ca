/** Whoever asks for much waits for itself: another user's small job is done at once. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Charts } from '#sandbox/charts/charts.ts'
import { Files } from '#sandbox/files/files.ts'
import { Python } from '#sandbox/python/python.ts'
import { caller, isolation, settings, withoutPython } from '../../packages/sandbox/test/machine.ts'

const part = {
  firstPage: 1,
  lastPage: 50,
  textOffset: 0,
  textLimit: 1000,
  rowOffset: 0,
  rowLimit: 10,
  maxBytes: 50_000,
}

describe('places for files', () => {
  const files = new Files(isolation, { ...settings.files, timeout_seconds: 4 })
  after(() => files.close())

  it('leave room for 8 bytes of one user beside eight slow files of another', async () => {
    const slow = Buffer.from(`a${','.repeat(400)}\n`.repeat(60_000))
    const order: string[] = []
    const eight = Array.from({ length: 8 }, async () => {
      await files.read('slow.csv', slow, part, caller('greedy')).catch(() => undefined)
      order.push('slow')
    })
    const small = files.read('small.csv', Buffer.from('a,b\n1,2\n'), part, caller('modest')).then((read) => {
      order.push('small')
      return read
    })
    const { tables } = await small
    assert.deepEqual(tables[0]?.rows, [[1, 2]])
    // One of the slow ones may have ended first; seven were waiting for their own kind.
    assert.ok(order.indexOf('small') <= 1, order.join(', '))
    await Promise.all(eight)
  })
})

describe('places for Python', { skip: withoutPython }, () => {
  const python = new Python(isolation, settings.python)
  after(() => python.close())

  it('are given up by two users who hold all of them for five minutes to a third, who has nothing running', async () => {
    const holding = new AbortController()
    const held = Array.from({ length: 6 }, (_, n) =>
      python
        .run({
          code: 'while True: pass',
          timeout: 300_000,
          owner: n % 2 === 0 ? 'a' : 'b',
          signal: holding.signal,
        })
        .then(({ error }) => JSON.stringify(error), String),
    )
    const { output } = await python.run({
      code: 'print(2)',
      owner: 'c',
      signal: new AbortController().signal,
    })
    assert.equal(output, '2\n')
    assert.match(await Promise.race(held), /others wait for a place/)
    holding.abort()
    await Promise.all(held)
  })
})

describe('places for charts', () => {
  const charts = new Charts(isolation, settings.charts)
  after(() => charts.close())

  it('leave room for one of one user beside eight of another', async () => {
    const points = Array.from({ length: 5000 }, (_, n) => ({ label: `l${n}`, value: n }))
    const encoding = { x: { field: 'label', type: 'nominal' }, y: { field: 'value', type: 'quantitative' } }
    const order: string[] = []
    const draw = async (user: string, spec: Record<string, unknown>, rows: typeof points): Promise<void> => {
      await charts.draw(spec, rows, 'svg', caller(user)).catch(() => undefined)
      order.push(user)
    }
    const slow = Array.from({ length: 8 }, (_, n) =>
      draw(
        'greedy',
        { layer: Array.from({ length: 6 }, () => ({ mark: 'bar', encoding })), height: 300 + n },
        points,
      ),
    )
    await Promise.all([draw('modest', { mark: 'bar', encoding }, points.slice(0, 2)), ...slow])
    // One of the slow ones may have ended first; seven were waiting for their own kind.
    assert.ok(order.indexOf('modest') <= 1, order.join(', '))
  })

  it('are two, of which one user has one, and a picture ends when its time is over', async () => {
    const points = Array.from({ length: 5000 }, (_, n) => ({ label: `l${n}`, value: n }))
    const encoding = { x: { field: 'label', type: 'nominal' }, y: { field: 'value', type: 'quantitative' } }
    const draw = (user: string, height: number): Promise<unknown> =>
      charts
        .draw({ mark: 'bar', encoding, height }, points, 'svg', caller(user), { seconds: 0.05 })
        .catch((error: unknown) => error)
    const greedy = Array.from({ length: 8 }, (_, n) => draw('greedy', 500 + n))
    assert.deepEqual(charts.load(), { running: 1, waiting: 7 })
    const others = ['ann', 'bob'].map((user) => draw(user, 600))
    assert.deepEqual(charts.load(), { running: 2, waiting: 8 })
    for (const ended of await Promise.all([...greedy, ...others]))
      assert.match(String(ended), /took longer than 0\.05 s and was given up/)
  })
})

describe('a stored chart', () => {
  const charts = new Charts(isolation, settings.charts)
  after(() => charts.close())
  const points = [{ label: 'mine', value: 1 }]
  const draw = (spec: Record<string, unknown>) => charts.draw(spec, points, 'svg', caller())
  const encoding = { x: { field: 'label', type: 'nominal' }, y: { field: 'value', type: 'quantitative' } }

  const hostile: [where: string, spec: Record<string, unknown>][] = [
    ['encoding.href', { mark: 'bar', encoding: { ...encoding, href: { value: 'javascript:alert(1)' } } }],
    ['encoding.url', { mark: 'bar', encoding: { ...encoding, url: { field: 'label' } } }],
    ['mark', { mark: { type: 'image' }, encoding }],
    ['mark.href', { mark: { type: 'bar', href: 'https://example.com' }, encoding }],
    ['data', { data: { url: 'http://169.254.169.254/' }, mark: 'bar', encoding }],
    ['datasets', { datasets: { rows: [{ label: 'x', value: 9 }] }, mark: 'bar', encoding }],
    ['layer[0].data', { layer: [{ data: { values: [] }, mark: 'bar', encoding }] }],
    [
      'transform[0].calculate',
      { transform: [{ calculate: 'sequence(1e9)', as: 'z' }], mark: 'bar', encoding },
    ],
    [
      'transform[0].filter',
      { transform: [{ filter: 'test(/(a+)+$/, datum.label)' }], mark: 'bar', encoding },
    ],
    [
      'transform[0].lookup',
      { transform: [{ lookup: 'a', from: { data: { url: 'x' } } }], mark: 'bar', encoding },
    ],
    ['params', { params: [{ name: 'p', expr: '1' }], mark: 'bar', encoding }],
    [
      'encoding.x.axis.labelExpr',
      { mark: 'bar', encoding: { ...encoding, x: { field: 'label', axis: { labelExpr: '1' } } } },
    ],
    ['usermeta', { usermeta: { embedOptions: { loader: {} } }, mark: 'bar', encoding }],
  ]
  for (const [where, spec] of hostile)
    it(`may not say ${where}, and draws nothing instead`, async () => {
      await assert.rejects(draw(spec), (error: Error) => {
        assert.ok(error.message.startsWith(`the chart cannot be drawn: ${where} `), error.message)
        return true
      })
    })

  it('is refused when it is larger than any picture needs', async () => {
    const layer = Array.from({ length: 2000 }, () => ({ mark: 'bar', encoding }))
    await assert.rejects(draw({ layer }), /the specification is too large/)
  })

  it('is drawn once for the same data, and anew for other data', async () => {
    const spec = { mark: 'bar', encoding }
    const first = await draw(spec)
    assert.equal(await draw(spec), first)
    const other = await charts.draw(spec, [{ label: 'yours', value: 2 }], 'svg', caller())
    assert.notEqual(other.id, first.id)
    assert.doesNotMatch(Buffer.from(other.data, 'base64').toString(), /mine/)
  })
})
