/** A call of an upstream's tool, our processor and the wait. `node --import tsx packages/upstream/bench/calls.ts [CALLS]` */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { Upstream, type UpstreamParts } from '#upstream/upstream.ts'
import { table } from '../../../bench/server-process.ts'

const calls = Number(process.argv[2] ?? 500)
const program = join(import.meta.dirname, '../../../test/tools/own/upstream-server.ts')
const tsx = ['--import', import.meta.resolve('tsx'), program]
const http = spawn(process.execPath, [...tsx, 'http', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
const [port] = (await once(http.stdout, 'data')) as [Buffer]
const servers: Record<string, UpstreamParts['server']> = {
  'a child process': { command: [process.execPath, ...tsx], env: async () => ({}), folder: tmpdir() },
  HTTP: {
    url: `http://127.0.0.1:${port.toString().trim()}/mcp`,
    headers: async () => ({}),
    allowPrivate: true,
  },
}
const told = []
for (const [name, server] of Object.entries(servers)) {
  const clientInfo = { name: 'bench', version: '1' }
  const upstream = new Upstream({ server, clientInfo, onEnd: () => undefined })
  const call = async (): Promise<unknown> =>
    await upstream.callTool('echo', { message: 'a' }, AbortSignal.timeout(60_000), { meta: {}, headers: {} })
  for (let n = 0; n < calls / 4; n++) await call()
  const [used, began] = [process.cpuUsage(), performance.now()]
  for (let n = 0; n < calls; n++) await call()
  const { user, system } = process.cpuUsage(used)
  const waited = ((performance.now() - began) * 1000) / calls
  told.push([name, Math.round((user + system) / calls), Math.round(waited)])
  upstream.close()
}
table(['', 'our processor, µs', 'waited, µs'], told)
http.kill()
