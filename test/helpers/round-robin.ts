/** A plain proxy in front of one or several daemons: each request goes to the next, whoever sent it, Host and Origin untouched. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface RoundRobin {
  readonly url: string
  /** Where the requests go from now on. */
  to(targets: readonly string[]): void
  /** The next POST reaches its daemon, but of the answer nothing reaches the client: its connection is cut. */
  cutNext(): void
  /** How many requests each target was sent. */
  readonly counts: ReadonlyMap<string, number>
}

/** Starts it; `added` are headers that every request gets. */
export async function startRoundRobin(
  t: Pick<TestContext, 'after'>,
  added: Readonly<Record<string, string>> = {},
): Promise<RoundRobin> {
  let targets: readonly string[] = []
  let turn = 0
  let cuts = false
  const counts = new Map<string, number>()
  const server = createServer((req, res) => {
    const target = targets[turn++ % targets.length]!
    counts.set(target, (counts.get(target) ?? 0) + 1)
    const isCut = cuts && req.method === 'POST'
    if (isCut) cuts = false
    const { hostname, port } = new URL(target)
    const headers = { ...req.headers, ...added }
    const options = { hostname, port, method: req.method, path: req.url, headers }
    const forward = request(options, (answer) => {
      if (isCut) {
        res.destroy()
        return
      }
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    forward.on('error', () => res.destroy())
    // The client's leaving must reach the daemon: it cancels.
    res.on('close', () => forward.destroy())
    req.pipe(forward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    to: (next) => void (targets = next),
    cutNext: () => void (cuts = true),
    counts,
  }
}
