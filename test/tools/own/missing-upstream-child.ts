/** Asks upstreams whose program is not there, one after the other, and prints why they were refused. */
import { Upstream } from '#upstream/upstream.ts'

const server = { command: ['/nowhere/at-all'], env: async () => ({}), folder: import.meta.dirname }
const clientInfo = { name: 'test', version: '1' }
const refusals = new Set<string>()
for (let n = 0; n < 200; n++) {
  const upstream = new Upstream({ server, clientInfo, onEnd: () => undefined })
  await upstream.listTools(AbortSignal.timeout(10_000)).catch((error: Error) => refusals.add(error.message))
  upstream.close()
}
console.log([...refusals].join('\n'))
