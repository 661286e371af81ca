/** A git server behind https: git's own `http-backend` over a bare repository, with a certificate made for the test. */
import { execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { basename, dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { siteFolder } from './site-folder.ts'

export interface GitServer {
  /** Of the repository, as `site.git`; at `moved.git` is a redirection to it. */
  readonly url: string
  /** The certificate that vouches for it. */
  readonly authority: string
  onRequest(listener: () => void): void
  /** The command lines of every process of this machine. */
  processes(): string[]
}

export async function startGitServer(
  t: TestContext,
  bare: string,
  pair: string | undefined,
): Promise<GitServer> {
  const folder = siteFolder(t)
  const [key, authority] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', authority], {
    stdio: 'ignore',
  })
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend')
  const listeners: (() => void)[] = []
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(authority) },
    (request, response) => {
      for (const listener of listeners) listener()
      const url = new URL(request.url!, 'https://localhost')
      if (url.pathname.startsWith('/moved.git')) {
        response.writeHead(302, { location: request.url!.replace('moved.git', 'site.git') }).end()
        return
      }
      const expected = pair && `Basic ${Buffer.from(pair).toString('base64')}`
      if (expected !== undefined && request.headers.authorization !== expected) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
        return
      }
      const child = spawn(backend, {
        env: {
          GIT_PROJECT_ROOT: dirname(bare),
          GIT_HTTP_EXPORT_ALL: '1',
          PATH_INFO: url.pathname.replace('/site.git', `/${basename(bare)}`),
          QUERY_STRING: url.search.slice(1),
          REQUEST_METHOD: request.method!,
          CONTENT_TYPE: request.headers['content-type'] ?? '',
          HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
          GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
          PATH: process.env['PATH'],
        },
      })
      request.pipe(child.stdin)
      const parts: Buffer[] = []
      child.stdout.on('data', (part: Buffer) => parts.push(part))
      child.on('close', () => {
        const answer = Buffer.concat(parts)
        const end = answer.indexOf('\r\n\r\n')
        const headers = Object.fromEntries(
          answer
            .toString('latin1', 0, end)
            .split('\r\n')
            .map((line) => line.split(': ') as [string, string]),
        )
        response.writeHead(Number.parseInt(headers['Status'] ?? '200', 10), headers)
        response.end(answer.subarray(end + 4))
      })
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return {
    url: `https://localhost:${port}/site.git`,
    authority,
    onRequest: (listener) => void listeners.push(listener),
    processes: () =>
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map((name) => {
          try {
            return readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
          } catch {
            return ''
          }
        }),
  }
}
