/**
 * What the checks of a fetch cost beside Node's own request, from a server on this machine: a connection and a handshake each.
 * `node --import tsx packages/outside/bench/fetching.ts`
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import process from 'node:process'
import { guardedFetch } from '#outside/guarded-fetch.ts'
import { median, table } from '../../../bench/server-process.ts'

const [rounds, each] = [15, 40]
const folder = mkdtempSync(join(tmpdir(), 'outside-'))
const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
execFileSync(
  'openssl',
  ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    .concat(['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'])
    .concat(['-keyout', key, '-out', cert]),
  { stdio: 'ignore' },
)
const ca = readFileSync(cert, 'utf8')
const server = createServer({ key: readFileSync(key), cert: ca }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"client_name":"an app"}')
})
server.listen(0, 'localhost')
await once(server, 'listening')
const url = `https://localhost:${(server.address() as AddressInfo).port}/client.json`
const guarded = guardedFetch({ ca, isAllowed: () => true })
const asks: Record<string, () => Promise<unknown>> = {
  'Node’s own request': async () => {
    const [response] = (await once(get(url, { ca, agent: false }), 'response')) as [NodeJS.ReadableStream]
    return await json(response)
  },
  'a guarded fetch': () => guarded(url),
}
const times = new Map(Object.keys(asks).map((name) => [name, [] as number[]]))
for (let round = 0; round < rounds; round++)
  for (const [name, ask] of Object.entries(asks)) {
    const used = process.cpuUsage()
    for (let count = 0; count < each; count++) await ask()
    const { user, system } = process.cpuUsage(used)
    times.get(name)!.push((user + system) / each)
  }
table(
  ['', 'processor of both ends, µs'],
  [...times].map(([name, all]) => [name, Math.round(median(all))]),
)
server.close()
rmSync(folder, { recursive: true })
