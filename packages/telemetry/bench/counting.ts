/** What counting costs: a request with its time, and the text of all. `node --import tsx packages/telemetry/bench/counting.ts` */
import { metricText, Tally, Timings } from '#telemetry/metric-text.ts'
import { ProcessMetrics } from '#telemetry/process-metrics.ts'
import { median, table } from '../../../bench/server-process.ts'

const [rounds, each] = [15, 100_000]
const bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]
const [tally, timings] = [new Tally(), new Timings(bounds, 'endpoint')]
const times: number[] = []
for (let round = 0; round < rounds; round++) {
  const began = performance.now()
  for (let count = 0; count < each; count++) {
    const endpoint = `endpoint ${count % 30}`
    tally.add(`${endpoint} POST 200`, () => ({ endpoint, method: 'POST', status: '200' }))
    timings.took(count / each, endpoint)
  }
  times.push(((performance.now() - began) * 1e6) / each)
}
const texts: number[] = []
const own = new ProcessMetrics()
for (let round = 0; round < rounds; round++) {
  const began = performance.now()
  metricText('counter', 'requests', 'all', tally)
  metricText('histogram', 'seconds', 'all', timings)
  await own.texts()
  texts.push(performance.now() - began)
}
table(
  ['a request counted, ns', 'the text of all, ms'],
  [[Math.round(median(times)), median(texts).toFixed(1)]],
)
process.exit()
