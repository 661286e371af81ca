/** The second listener, for Prometheus; it serves one path and nothing else. */
import type { Server } from 'node:http'
import { http } from '#leaf/node-http.ts'
import { AppError } from '#leaf/errors.ts'
import type { Metrics } from './metrics.ts'

/** Serves GET /metrics at `host:port`. AppError `unavailable` when that is taken. */
export function listenForMetrics(metrics: Metrics, listen: string): Promise<Server> {
  const at = listen.lastIndexOf(':')
  const host = listen.slice(0, at).replace(/^\[|\]$/g, '')
  const server = http.createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new AppError('unavailable', `cannot listen on ${listen} (metrics.listen): ${error.message}`, {
          cause: error,
        }),
      ),
    )
    server.listen(Number(listen.slice(at + 1)), host, () => resolve(server))
  })
}
