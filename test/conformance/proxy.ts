/** A pass-through proxy that adds a bearer token: the official suite has no way to send one. */
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** The URL at which every request reaches `target` with the token, Host and Origin untouched. */
export async function startProxy(
  t: Pick<TestContext, 'after'>,
  target: string,
  token: string,
): Promise<string> {
  const { hostname, port, pathname } = new URL(target)
  const server = createServer((req, res) => {
    const headers = { ...req.headers, authorization: `Bearer ${token}` }
    const forward = request({ hostname, port, method: req.method, path: req.url, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    forward.on('error', () => res.destroy())
    // The client's leaving must reach the server: it cancels.
    res.on('close', () => forward.destroy())
    req.pipe(forward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://localhost:${(server.address() as AddressInfo).port}${pathname}`
}
