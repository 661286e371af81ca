/** How fast tokens are checked, refreshed and issued: `node --import tsx bench/oauth/tokens.ts [seconds]`. */
import process from 'node:process'
import type { TestContext } from 'node:test'
import { resourceOf } from '../../src/oauth/urls.ts'
import { authorize, callMcp, connect, redeem, refresh, register } from '../../test/oauth/browser.ts'
import { startServer } from '../../test/oauth/server.ts'

const seconds = Number(process.argv[2] ?? 3)
const closing: (() => unknown)[] = []
const context = { after: (close: () => unknown) => closing.unshift(close) } as unknown as TestContext
const server = await startServer(context, {
  settings: { rate_limits: { enabled: false }, log: { level: 'silent' } },
})
server.log.setLevel('silent')

const { client, tokens } = await connect(server)
const request = {
  user: 'sales@example.com',
  client,
  clientName: 'bench',
  scopes: ['all'],
  resource: resourceOf(server.url),
}

await measure('find an access token (in process)', 1, async () => server.tokens.find(tokens.access_token))
await measure('bearer check over HTTP', 16, () =>
  callMcp(server, `Bearer ${tokens.access_token}`).then((r) => r.text()),
)
await measure('issue tokens (durable)', 16, () => server.tokens.issue(request))
const chains = await Promise.all(Array.from({ length: 16 }, () => server.tokens.issue(request)))
const current = chains.map((issued) => issued.refreshToken!)
await measure('refresh over HTTP (durable)', 16, async (lane) => {
  current[lane] = (await refresh(server, client, current[lane]!)).body.refresh_token
})
const { client_id: app } = await register(server)
await measure('authorize, sign in, approve, redeem', 2, async () => {
  await redeem(server, { ...(await authorize(server, { client: app })), client: app })
})
for (const close of closing) await close()

/** Runs the work in so many lanes for the time given and prints rate and latency. */
async function measure(name: string, lanes: number, work: (lane: number) => Promise<unknown>): Promise<void> {
  for (let n = 0; n < 20; n++) await work(0)
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (performance.now() < end) {
        const start = performance.now()
        await work(lane)
        times.push(performance.now() - start)
      }
    }),
  )
  times.sort((a, b) => a - b)
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? 0).toFixed(3)
  const rate = Math.round(times.length / seconds)
  console.log(`${name}: ${rate}/s, median ${at(0.5)} ms, 99 % ${at(0.99)} ms`)
}
