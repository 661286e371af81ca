/** Asks upstreams whose program is not there, one after the other, and prints why they were refused. */
import { Upstream } from '../../../src/tools/own/upstream.ts'

const definition = { command: ['/nowhere/at-all'] } as unknown as ConstructorParameters<typeof Upstream>[0]
const refusals = new Set<string>()
for (let n = 0; n < 200; n++) {
  const upstream = new Upstream(definition, import.meta.dirname, (name) => name)
  await upstream.listTools(AbortSignal.timeout(10_000)).catch((error: Error) => refusals.add(error.message))
  upstream.close()
}
console.log([...refusals].join('\n'))
