import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createProxy, type RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { isPublicAddress, isPublicHost } from '#leaf/public-address.ts'
import { startServer } from '../../../test/oauth/server.ts'
import { guardedFetch, HostUnreachable, type FetchOptions } from '#outside/guarded-fetch.ts'

function openssl(): string | false {
  try {
    execFileSync('openssl', ['version'])
    return false
  } catch {
    return 'openssl is not installed'
  }
}

const skip = openssl()

/** An https server for `docs.example` with a certificate of its own. */
async function serve(
  t: TestContext,
  listener: RequestListener,
): Promise<{ port: number; options: FetchOptions }> {
  const folder = await mkdtemp(join(tmpdir(), 'fetch-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = (name: string): string => join(folder, name)
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
      .concat(['-subj', '/CN=docs.example', '-addext', 'subjectAltName=DNS:docs.example'])
      .concat(['-keyout', file('key'), '-out', file('cert')]),
    { stdio: 'ignore' },
  )
  const cert = await readFile(file('cert'), 'utf8')
  const server = createServer({ key: await readFile(file('key')), cert }, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const options = {
    ca: cert,
    resolve: async () => ['127.0.0.1'],
    isAllowed: () => true,
    timeoutMilliseconds: 1500,
  }
  return { port: (server.address() as AddressInfo).port, options }
}

function json(body: unknown, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
}

describe('addresses', () => {
  it('are public or not, in every notation', () => {
    const hidden = [
      '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1',
      '192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255',
      ':: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::1',
      '100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2001:10::1 2002:7f00:1:: 2002:a9fe:a9fe::1',
      'fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 3fff::1 5f00::1',
      '2a00:1450::5efe:7f00:1 2a00:1450::200:5efe:a00:1 2a00:1450:0:0:0:5efe:c0a8:101',
      'localhost 127.1 0x7f000001 2130706433 1.2.3 nonsense',
    ].flatMap((line) => line.split(' '))
    for (const address of [...hidden, '']) assert.equal(isPublicAddress(address), false, address)
    const open =
      '8.8.8.8 1.1.1.1 160.79.104.1 100.63.255.255 100.128.0.1 172.32.0.1 2a00:1450:4001::1 2606:4700::1111'
    for (const address of open.split(' ')) assert.equal(isPublicAddress(address), true, address)
  })
})

describe('fetching what a stranger named', () => {
  it('gives JSON and how long it may be kept', { skip }, async (t) => {
    const { port, options } = await serve(t, json({ a: 1 }, { 'Cache-Control': 'public, max-age=77' }))
    assert.deepEqual(await guardedFetch(options)(`https://docs.example:${port}/x`), {
      body: { a: 1 },
      maxAge: 77,
    })
  })

  it('sends nothing of ours along', { skip }, async (t) => {
    const seen: Record<string, unknown>[] = []
    const { port, options } = await serve(t, (request, response) => {
      seen.push(request.headers)
      json({})(request, response)
    })
    await guardedFetch(options)(`https://docs.example:${port}/x`)
    assert.deepEqual(Object.keys(seen[0]!).sort(), ['accept', 'accept-encoding', 'connection', 'host'])
  })

  it('asks for no address that is not public, whatever the name says', async () => {
    const answers: Record<string, string[]> = {
      'loopback.example': ['127.0.0.1'],
      'metadata.example': ['169.254.169.254'],
      'mixed.example': ['8.8.8.8', '10.0.0.1'],
      'v6.example': ['::1'],
      'mapped.example': ['::ffff:10.0.0.1'],
      'nat64.example': ['64:ff9b::a00:1'],
      'nowhere.example': [],
    }
    const fetch = guardedFetch({ resolve: async (host) => answers[host] ?? [] })
    for (const host of Object.keys(answers)) {
      await assert.rejects(fetch(`https://${host}/x`), /not on the public internet|no address/, host)
    }
    for (const url of ['https://127.0.0.1/x', 'https://[::1]/x', 'https://0x7f.1/x', 'https://2130706433/']) {
      await assert.rejects(fetch(url), /not on the public internet/, url)
    }
    await assert.rejects(fetch('http://docs.example/x'), /not an https URL/)
    await assert.rejects(fetch('https://user:pw@docs.example/x'), /user name/)
  })

  it('dials the address that was checked, though the name changes meanwhile', { skip }, async (t) => {
    const { port, options } = await serve(t, json({ here: true }))
    let asked = 0
    const resolve = async (): Promise<string[]> => (asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2'])
    const fetch = guardedFetch({ ...options, resolve, isAllowed: (address) => address === '127.0.0.1' })
    assert.deepEqual((await fetch(`https://docs.example:${port}/x`)).body, { here: true })
    assert.equal(asked, 1)
    await assert.rejects(fetch(`https://docs.example:${port}/x`), /not on the public internet/)
  })

  it(
    'goes through the proxy of the settings, which looks up the name, and still checks the certificate',
    { skip },
    async (t) => {
      const { port, options } = await serve(t, json({ here: true }))
      const asked: string[] = []
      const proxy = createProxy((_request, response) => response.writeHead(405).end())
      proxy.on('connect', (request, socket) => {
        asked.push(request.url ?? '')
        if (request.url?.startsWith('forbidden.example')) {
          socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
          return
        }
        const out = connect(port, '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
          out.pipe(socket).pipe(out)
        })
        socket.on('error', () => out.destroy())
        out.on('error', () => socket.destroy())
      })
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
      t.after(() => proxy.close())
      const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const fetch = guardedFetch({
        ...options,
        resolve: () => Promise.reject(new Error('looked up here')),
        isAllowed: isPublicHost,
        proxy: () => proxyUrl,
      })
      assert.deepEqual((await fetch('https://docs.example/x')).body, { here: true })
      assert.deepEqual(asked, ['docs.example:443'])
      await assert.rejects(fetch('https://other.example/x'), /altnames/)
      await assert.rejects(fetch('https://forbidden.example/x'), /the egress proxy answered 403/)
      // In 2.13.1 all of these names came to the proxy.
      const inner =
        'localhost LOCALHOST localhost. x.localhost intranet printer.local metadata.google.internal'
      for (const host of `10.0.0.1 docs.example. nas.home.arpa ${inner}`.split(' '))
        await assert.rejects(fetch(`https://${host}/x`), /not on the public internet/, host)
      assert.equal(asked.length, 3)
      const own = guardedFetch({ ...options, proxy: () => proxyUrl, isAllowed: () => true })
      await assert.rejects(
        own('https://forbidden/x'),
        /altnames/,
        'what the operator named may be in the own network',
      )
      assert.equal(asked.at(-1), 'forbidden:443')
      const nowhere = guardedFetch({ proxy: () => 'http://127.0.0.1:1' })
      await assert.rejects(nowhere('https://docs.example/x'), /the egress proxy cannot be used/)
    },
  )

  it('checks the certificate against the name', { skip }, async (t) => {
    const { port, options } = await serve(t, json({}))
    await assert.rejects(guardedFetch(options)(`https://other.example:${port}/x`), /altnames/)
    const { ca: _ca, ...without } = options
    await assert.rejects(guardedFetch(without)(`https://docs.example:${port}/x`), /self-signed/)
  })

  it('follows no redirect and takes no error, no HTML and nothing broken', { skip }, async (t) => {
    const { port, options } = await serve(t, (request, response) => {
      const path = request.url ?? ''
      if (path === '/redirect') response.writeHead(302, { Location: 'https://docs.example/' }).end()
      else if (path === '/error') response.writeHead(500, { 'Content-Type': 'application/json' }).end('{}')
      else if (path === '/html') response.writeHead(200, { 'Content-Type': 'text/html' }).end('{}')
      else if (path === '/broken') response.writeHead(200, { 'Content-Type': 'application/json' }).end('{')
      else response.destroy()
    })
    const fetch = guardedFetch(options)
    const at = (path: string): string => `https://docs.example:${port}${path}`
    await assert.rejects(fetch(at('/redirect')), /answered 302/)
    await assert.rejects(fetch(at('/error')), /answered 500/)
    await assert.rejects(fetch(at('/html')), /not JSON/)
    await assert.rejects(fetch(at('/broken')), /not JSON/)
    await assert.rejects(fetch(at('/gone')))
  })

  it('of one slow document leaves the other documents of its host to everybody', { skip }, async (t) => {
    const documents: Record<string, unknown> = {}
    const { port, options } = await serve(t, (request, response) => {
      const body = documents[request.url ?? '']
      if (body !== undefined) json(body)(request, response)
      else if (request.url === '/begun')
        response.writeHead(200, { 'Content-Type': 'application/json' }).write('{')
      // Else a stranger chose a path that takes its time.
    })
    const at = (path: string): string => `https://docs.example:${port}${path}`
    const redirect_uris = ['http://localhost/callback']
    documents['/client.json'] = { client_id: at('/client.json'), client_name: 'App', redirect_uris }
    const server = await startServer(t, { fetch: guardedFetch({ ...options, timeoutMilliseconds: 400 }) })
    for (const path of ['/slow', '/begun']) {
      assert.equal(await server.clients.find(at(path)), undefined)
      assert.match(server.clients.lastFetch(at(path))?.why ?? '', /took too long/)
    }
    assert.equal((await server.clients.find(at('/client.json')))?.name, 'App')
  })

  it('takes neither much nor long', { skip }, async (t) => {
    const { port, options } = await serve(t, (request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' })
      if (request.url === '/large') response.end(`"${'x'.repeat(100_000)}"`)
      else response.write('"')
    })
    const fetch = guardedFetch({ ...options, timeoutMilliseconds: 400 })
    await assert.rejects(fetch(`https://docs.example:${port}/large`), /larger than 16384 bytes/)
    await assert.rejects(fetch(`https://docs.example:${port}/slow`), /took too long/)
    // What one document does says nothing of its host; that no connection comes about does.
    for (const path of ['large', 'slow'])
      await assert.rejects(
        fetch(`https://docs.example:${port}/${path}`),
        (error) => !(error instanceof HostUnreachable),
      )
    await assert.rejects(fetch(`https://docs.example:1/x`), HostUnreachable)
    const stuck = guardedFetch({ resolve: () => new Promise(() => {}), timeoutMilliseconds: 100 })
    await assert.rejects(stuck('https://docs.example/x'), /took too long/)
  })
})
