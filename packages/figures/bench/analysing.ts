/** The analyses of 10,000 rows, and a drawing of 1,000. `node --import tsx packages/figures/bench/analysing.ts [ROUNDS]` */
import process from 'node:process'
import { analyzeBusiness, businessAnalyses } from '#figures/business.ts'
import { drawingOf } from '#figures/drawing.ts'
import { median, table } from '../../../bench/server-process.ts'

const rounds = Number(process.argv[2] ?? 20)
const columns = [
  { name: 'day', type: 'date' },
  { name: 'amount', type: 'decimal', places: 2 },
  { name: 'quantity', type: 'integer' },
  { name: 'country', type: 'text' },
] as const
const rows = Array.from({ length: 10_000 }, (_, n) => [
  `2026-${String((n % 12) + 1).padStart(2, '0')}-${String((n % 28) + 1).padStart(2, '0')}`,
  (n % 997) + 0.01,
  n % 13,
  ['DE', 'FR', 'IT'][n % 3]!,
])
const few = rows.slice(0, 1000).map(([, ...rest], n) => [`row ${n}`, ...rest])
const names = columns.map(({ name }) => name)
const works: Record<string, () => unknown> = {
  ...Object.fromEntries(
    businessAnalyses.map((kind) => [kind, () => analyzeBusiness(kind, { columns, rows, dateField: 'day' })]),
  ),
  drawing: () => drawingOf(names, few, { as: 'bar', x: 'day', y: ['amount', 'quantity'] }),
}
const spent = new Map(Object.keys(works).map((name) => [name, [] as number[]]))
for (let round = 0; round < rounds; round++)
  for (const [name, work] of Object.entries(works)) {
    const used = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(used)
    spent.get(name)!.push((user + system) / 1000)
  }
table(
  ['', 'processor, ms'],
  [...spent].map(([name, all]) => [name, median(all).toFixed(1)]),
)
