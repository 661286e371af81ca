/**
 * What an idle stream costs: opens legacy GET streams on the real daemon and reads its resident memory from outside,
 * `node --import tsx bench/mcp/streams.ts [streams]` (2000 unless told), half of them as a first round that warms up.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { get, type ClientRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { operate } from '../../src/cli/control.ts'
import { copyOfShippedSite, startDaemon, temporaryFolder } from '../../test/helpers/daemon.ts'

const streams = Number(process.argv[2] ?? 2000)
const undo: (() => unknown)[] = []
const cleanup = { after: (done: () => unknown) => void undo.push(done) } as never
const site = copyOfShippedSite(cleanup)
const state = join(temporaryFolder(cleanup), 'state')
const settings = join(site, 'config/settings.yaml')
const text = readFileSync(settings, 'utf8')
writeFileSync(settings, text.replace('max_streams_per_user: 10', `max_streams_per_user: ${streams * 2}`))
const daemon = await startDaemon(cleanup, { site, state })
const { access_token: token } = await operate({ site, state, json: true }, 'tokens.issue', {
  user: 'admin@example.com',
})
const url = `${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`
const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }

/** Kilobytes that the daemon's process holds in memory. */
function resident(): number {
  const status = readFileSync(`/proc/${daemon.process.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1])
}

const open: ClientRequest[] = []
async function openMore(count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await new Promise<void>((resolve, reject) => {
      const request = get(url, { headers, agent: false }, (response) => {
        response.resume()
        if (response.statusCode === 200) resolve()
        else reject(new Error(`HTTP ${response.statusCode}`))
      })
      request.on('error', reject)
      open.push(request)
    })
  await delay(5000)
}

await openMore(streams / 2)
const before = resident()
await openMore(streams / 2)
const after = resident()
console.log(
  `${streams} streams: ${after} KB resident; ${((after - before) / (streams / 2)).toFixed(1)} KB for each of the last ${streams / 2}`,
)
for (const request of open) request.on('error', () => undefined).destroy()
for (const done of undo.reverse()) await done()
process.exit(0)
