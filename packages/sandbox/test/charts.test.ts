import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { chartPoints } from '../../../src/analysis/chart-data.ts'
import { aggregateNames, chartTypes, vegaLiteOf } from '#figures/vega-lite.ts'
import { type ChartDefinition, completeChart } from '../../../src/analysis/chart-definition.ts'
import { Charts } from '#sandbox/charts/charts.ts'
import { isoWeek } from '#leaf/weeks.ts'
import { collectionFor, type Documents } from '../../../src/documents/documents.ts'
import type { FieldType } from '../../../src/documents/platform/platform.ts'
import { openCompany, siteOf, someone } from '../../../test/documents/trading-company.ts'
import { allGone, caller, descendants, isolations, settings } from './machine.ts'

const columns: { name: string; type: FieldType }[] = [
  { name: 'status', type: 'select' },
  { name: 'amount', type: 'currency' },
  { name: 'day', type: 'date' },
  { name: 'creation', type: 'datetime' },
]
const bar: ChartDefinition = {
  chart_name: 'C',
  chart_type: 'bar',
  doctype: 'Thing',
  aggregate_function: 'Count',
  based_on: 'status',
}
const now = Date.parse('2026-03-10T12:00:00Z')

const thing = `
doctype: Thing
naming: {rule: series, series: 'T-#####'}
fields:
  - {fieldname: status, type: text}
  - {fieldname: amount, type: currency}
  - {fieldname: day, type: date}
permissions:
  - {role: Clerk, actions: [read, create]}
`
const clerk = someone('clerk@example.com', 'Clerk')

/** Documents that hold these values of status, amount and day. */
async function holding(t: TestContext, rows: readonly (readonly unknown[])[]): Promise<Documents> {
  const files = siteOf({ 'config/doctypes/thing.yaml': thing })
  const { documents, platform } = await openCompany(t, { files, seeds: false })
  const things = collectionFor(documents, platform.doctypes.get('Thing')!)
  const time = '2026-03-01T10:00:00.000Z'
  await documents.store.transaction(async (tx) => {
    for (const [index, [status, amount, day]] of rows.entries())
      await tx.in(things).insert({
        id: `T-${index}`,
        owner: clerk.user,
        creation: time,
        modified: time,
        modified_by: clerk.user,
        docstatus: 0,
        status,
        amount,
        day,
      })
  })
  return documents
}

describe('the numbers of a chart', () => {
  const rows = [
    ['Open', 10, '2026-03-01'],
    ['Open', 5.5, '2026-03-09'],
    ['Done', null, '2026-02-15'],
    [null, 2, '2024-01-01'],
  ]
  const points = async (t: TestContext, more: Partial<ChartDefinition>, given = rows) =>
    (await chartPoints(await holding(t, given), clerk, { ...bar, ...more }, now)).map(({ label, value }) => [
      label,
      typeof value === 'number' ? value : String(value),
    ])

  it('are counts, sums or averages of groups, largest first', async (t) => {
    assert.deepEqual(await points(t, {}), [
      ['Open', 2],
      ['Done', 1],
      ['(none)', 1],
    ])
    assert.deepEqual(await points(t, { aggregate_function: 'Sum', value_based_on: 'amount' }), [
      ['Open', '15.50'],
      ['(none)', '2.00'],
    ])
    assert.deepEqual(await points(t, { aggregate_function: 'Average', value_based_on: 'amount' }), [
      ['Open', '7.75'],
      ['(none)', '2.00'],
    ])
  })

  it('go by intervals of time, within the timespan, in order', async (t) => {
    const line = { chart_type: 'line', time_series_based_on: 'day' } as const
    assert.deepEqual(await points(t, { ...line, timespan: 'Last Month', time_interval: 'Monthly' }), [
      ['2026-02-01', 1],
      ['2026-03-01', 2],
    ])
    assert.deepEqual(await points(t, { ...line, timespan: 'All Time', time_interval: 'Yearly' }), [
      ['2024-01-01', 1],
      ['2026-01-01', 3],
    ])
    assert.deepEqual(await points(t, { ...line, timespan: 'Last Quarter', time_interval: 'Quarterly' }), [
      ['2026-01-01', 3],
    ])
    assert.deepEqual(await points(t, { ...line, timespan: 'Last Week', time_interval: 'Weekly' }), [
      ['2026-03-09', 1],
    ])
    assert.deepEqual(await points(t, { ...line, chart_type: 'heatmap', timespan: 'Last Month' }), [
      ['2026-02-15', 1],
      ['2026-03-01', 1],
      ['2026-03-09', 1],
    ])
  })

  it('count a value, a group and a day only where they may be seen', async (t) => {
    const files = siteOf({
      'config/doctypes/thing.yaml': `
doctype: Thing
naming: {rule: hash}
fields:
  - {fieldname: status, type: text, level: 1}
  - {fieldname: amount, type: currency, level: 1}
  - {fieldname: day, type: date, level: 1}
  - {fieldname: plain, type: text}
permissions:
  - {role: Clerk, actions: [read]}
  - {role: Clerk, actions: [read], if_owner: true, levels: [1]}
`,
    })
    const { documents, platform } = await openCompany(t, { files, seeds: false })
    const things = collectionFor(documents, platform.doctypes.get('Thing')!)
    const time = '2026-03-01T10:00:00.000Z'
    const owners = [clerk.user, clerk.user, 'boss@example.com', 'boss@example.com', 'boss@example.com']
    await documents.store.transaction(async (tx) => {
      for (const [index, owner] of owners.entries())
        await tx.in(things).insert({
          id: `T-${index}`,
          owner,
          creation: time,
          modified: time,
          modified_by: owner,
          docstatus: 0,
          status: index === 1 ? null : 'Open',
          amount: 10,
          day: '2026-03-01',
          plain: 'p',
        })
    })
    const drawn = async (more: Partial<ChartDefinition>) =>
      (await chartPoints(documents, clerk, { ...bar, ...more }, now)).map(({ label, value }) => [
        label,
        typeof value === 'number' ? value : String(value),
      ])
    assert.deepEqual(await drawn({}), [
      ['(none)', 4],
      ['Open', 1],
    ])
    const sum = { aggregate_function: 'Sum', value_based_on: 'amount' } as const
    assert.deepEqual(await drawn({ ...sum, based_on: 'plain' }), [['p', '20.00']])
    const line = { chart_type: 'line', time_series_based_on: 'day', timespan: 'All Time' } as const
    assert.deepEqual(await drawn(line), [['2026-03-01', 2]])
    assert.deepEqual(await drawn({ ...line, timespan: 'Last Month' }), [['2026-03-01', 2]])
    await assert.rejects(drawn({ based_on: 'statu' }), { code: 'invalid', message: /did you mean "status"/ })
  })

  it('are of weeks from Monday, also where a year begins within one', async (t) => {
    const days = ['2025-12-28', '2025-12-29', '2026-01-04', '2026-01-05', '2027-01-03', '2021-01-03']
    assert.deepEqual(
      await points(
        t,
        { chart_type: 'line', time_series_based_on: 'day', timespan: 'All Time', time_interval: 'Weekly' },
        days.map((date) => ['Open', 1, date]),
      ),
      [
        ['2020-12-28', 1],
        ['2025-12-22', 1],
        ['2025-12-29', 2],
        ['2026-01-05', 1],
        ['2026-12-28', 1],
      ],
    )
  })

  it('put the smallest of very many groups together', async (t) => {
    const many = await points(
      t,
      {},
      Array.from({ length: 100 }, (_, n) => [`g${n}`, 1, null]),
    )
    assert.equal(many.length, 30)
    assert.deepEqual(many.at(-1), ['71 others', 71])
  })

  it('are counted over very many days with turns for others in between', async (t) => {
    const count = 50_000
    const dayOf = (n: number): string => new Date(n * 86_400_000).toISOString().slice(0, 10)
    const documents = await holding(
      t,
      Array.from({ length: count }, (_, n) => ['Open', 1, dayOf(n)]),
    )
    let turns = 0
    let isOver = false
    const look = (): void => {
      turns++
      if (!isOver) setImmediate(look)
    }
    setImmediate(look)
    const daily = { chart_type: 'line', time_series_based_on: 'day', timespan: 'All Time' } as const
    const found = await chartPoints(documents, clerk, { ...bar, based_on: undefined, ...daily }, now)
    isOver = true
    assert.ok(turns >= 5, `${turns} turns`)
    assert.equal(found.length, count)
    assert.deepEqual(found.at(-1), { label: dayOf(count - 1), value: 1 })
  })
})

describe('a chart’s definition', () => {
  it('gets what it leaves open from the fields, and says so', () => {
    const { based_on: _, ...open } = bar
    assert.deepEqual(completeChart(open, columns), {
      definition: bar,
      warnings: ['based_on was not given; status was chosen'],
    })
    const line = completeChart({ ...open, chart_type: 'line' }, columns)
    assert.equal(line.definition.time_series_based_on, 'day')
    assert.equal(line.definition.timespan, 'Last Month')
  })

  it('is refused with everything that is wrong', () => {
    assert.throws(
      () =>
        completeChart(
          { ...bar, aggregate_function: 'Sum', based_on: 'statu', time_series_based_on: 'amount' },
          columns,
        ),
      {
        code: 'invalid',
        message:
          'based_on: Thing has no field "statu" that you may read; did you mean "status"?; time_series_based_on: amount is a currency field, not one of dates: day, creation; value_based_on: Sum needs a field of numbers: amount',
      },
    )
  })
})

describe('what a chart shows', () => {
  it('is the date of the doctype itself, where nothing was asked for, and what was asked for otherwise', () => {
    const dated: { name: string; type: FieldType }[] = [
      { name: 'creation', type: 'datetime' },
      { name: 'order_date', type: 'date' },
    ]
    const line = { ...bar, chart_type: 'line' as const, based_on: undefined }
    const { definition, warnings } = completeChart(line, dated)
    assert.equal(definition.time_series_based_on, 'order_date')
    assert.deepEqual(warnings, ['time_series_based_on was not given; order_date was chosen'])
    const asked = completeChart({ ...line, time_series_based_on: 'creation' }, dated)
    assert.equal(asked.definition.time_series_based_on, 'creation')
  })

  it('has weeks from Monday, numbered as ISO 8601 does', () => {
    for (const [date, week, weekday] of [
      ['2026-01-05', '2026-W02', 'Mon'],
      ['2026-01-04', '2026-W01', 'Sun'],
      ['2024-12-30', '2025-W01', 'Mon'],
      ['2021-01-03', '2020-W53', 'Sun'],
      ['2027-01-01', '2026-W53', 'Fri'],
    ] as const)
      assert.deepEqual(isoWeek(date), { week, weekday })
    for (const none of ['', 'Open', '2026-01', '2026-13-01']) assert.equal(isoWeek(none), undefined)
  })

  it('has a colour for each group, and the others last', () => {
    const pie = vegaLiteOf({ ...bar, chart_type: 'pie' }) as {
      encoding: { color: { scale: { range: string[] } } }
    }
    assert.equal(new Set(pie.encoding.color.scale.range).size, 30)
    const bars = vegaLiteOf(bar) as { encoding: { x: { sort: unknown } } }
    assert.equal(bars.encoding.x.sort, null)
  })
})

for (const isolation of isolations)
  describe(`drawing, isolation ${isolation.kind}`, () => {
    const charts = new Charts(isolation, { ...settings.charts, timeout_seconds: 60 })
    after(() => charts.close())
    const points = [
      { label: '2026-01-01', value: 1 },
      { label: '2026-01-05', value: 3 },
      { label: '<script>alert(1)</script>', value: 2 },
    ]

    it('draws light on dark where the page is, but for what the chart chooses itself', async () => {
      const drawn = async (spec: Record<string, unknown>, dark: boolean): Promise<string> =>
        Buffer.from((await charts.draw(spec, points, 'svg', caller(), { dark })).data, 'base64').toString()
      const light = await drawn(vegaLiteOf(bar), false)
      const dark = await drawn(vegaLiteOf(bar), true)
      assert.match(dark, /fill="#1d222b"/)
      assert.match(dark, /fill="#e8ebf1"/)
      assert.doesNotMatch(light, /#1d222b|#e8ebf1/)
      assert.match(await drawn({ ...vegaLiteOf(bar), background: '#ffeedd' }, true), /fill="#ffeedd"/)
    })

    it('makes SVG and PNG of every kind of chart', async () => {
      for (const type of chartTypes) {
        const spec = vegaLiteOf({
          ...bar,
          chart_type: type,
          time_series_based_on: 'day',
          chart_name: 'A & <b>',
        })
        const { mimeType, data } = await charts.draw(spec, points, 'svg', caller())
        assert.equal(mimeType, 'image/svg+xml')
        const svg = Buffer.from(data, 'base64').toString()
        assert.match(svg, /^<svg/)
        assert.doesNotMatch(svg, /<script>|<b>/)
      }
      assert.ok(aggregateNames.length > 0)
      const { mimeType, data } = await charts.draw(vegaLiteOf(bar), points, 'png', caller())
      if (charts.noPng === undefined) {
        assert.equal(mimeType, 'image/png')
        assert.equal(Buffer.from(data, 'base64').subarray(1, 4).toString(), 'PNG')
      }
    })

    const hostile: [name: string, spec: Record<string, unknown>][] = [
      ['width', { mark: 'bar', width: 1e9, encoding: { x: { field: 'label' } } }],
      [
        'code',
        {
          mark: 'bar',
          transform: [{ calculate: 'constructor.constructor("return process")()', as: 'x' }],
          encoding: { x: { field: 'x' } },
        },
      ],
      [
        'prototypes',
        {
          mark: 'bar',
          transform: [{ calculate: 'datum.__proto__.polluted = 1', as: 'x' }],
          encoding: { x: { field: 'x' } },
        },
      ],
      ['nonsense', { mark: { type: 'none' } }],
      ['nothing', {}],
    ]
    for (const [name, spec] of hostile)
      it(`refuses a specification of ${name}`, async () => {
        await assert.rejects(charts.draw(spec, points, 'svg', caller()), {
          name: 'AppError',
          code: 'invalid',
        })
      })

    it('shows no data but what it was handed', async () => {
      const spec = {
        data: { url: 'file:///etc/passwd', format: { type: 'dsv', delimiter: ':' } },
        mark: 'text',
        encoding: { text: { field: 'label' }, y: { field: 'label' } },
      }
      await assert.rejects(charts.draw(spec, [{ label: 'mine', value: 1 }], 'svg', caller()), {
        message: 'the chart cannot be drawn: data is not allowed in a chart',
      })
    })

    it('shows of very many points the first, as many as are set, and says so', async () => {
      const few = new Charts(isolation, { ...settings.charts, timeout_seconds: 60, max_points: 50 })
      try {
        const many = Array.from({ length: 100_000 }, (_, n) => ({ label: `p${n}`, value: n }))
        const all = await few.draw(vegaLiteOf(bar), many, 'svg', caller())
        assert.equal(all.part, 'the first 50 of 100000 points')
        const whole = await few.draw(vegaLiteOf(bar), many.slice(0, 50), 'svg', caller())
        assert.equal(whole.part, undefined)
        const picture = Buffer.from(all.data, 'base64').toString()
        assert.match(picture, />the first 50 of 100000 points</)
        assert.match(picture, />p49</)
        assert.doesNotMatch(picture, />p50</)
      } finally {
        await few.close()
      }
    })

    it('leaves out labels that would cover each other among thousands of bars', async () => {
      const many = Array.from({ length: 5000 }, (_, n) => ({ label: `p${n}`, value: n }))
      const { data } = await charts.draw(vegaLiteOf(bar), many, 'svg', caller())
      const labels = Buffer.from(data, 'base64')
        .toString()
        .match(/>p\d+</g)!
      assert.ok(labels.length > 5 && labels.length < 200, `${labels.length} labels`)
    })

    it('arrives whole, however large the picture is', async () => {
      const many = Array.from({ length: 50 }, (_, n) => ({ label: `${n} ${'x'.repeat(20_000)}`, value: n }))
      const spec = { mark: 'text', encoding: { text: { field: 'label' }, y: { field: 'value' } } }
      const { data } = await charts.draw(spec, many, 'svg', caller())
      assert.ok(data.length > 1_300_000, `${data.length} characters`)
    })

    it('is given up when it takes too much', async () => {
      const small = new Charts(isolation, { ...settings.charts, memory_mb: 192, timeout_seconds: 5 })
      const spec = {
        mark: 'bar',
        transform: [{ calculate: 'sequence(1e9)', as: 'z' }],
        encoding: { x: { field: 'label' } },
      }
      await assert.rejects(small.draw(spec, points, 'svg', caller()), { name: 'AppError' })
      await small.close()
    })

    it('leaves no process behind', async () => {
      await charts.close()
      assert.ok(await allGone(), `still there: ${descendants().join(', ')}`)
    })
  })
