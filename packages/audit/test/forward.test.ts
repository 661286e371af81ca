import { createHmac } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer as createHttp, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer as createTls } from 'node:tls'
import { describe, it, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import type { AuditLine } from '#audit/audit.ts'
import { Forwarder, type Sink } from '#audit/forward/forward.ts'
import { syslogMessage, syslogSink } from '#audit/forward/syslog.ts'
import { webhookSink } from '#audit/forward/webhook.ts'
import { isApp } from '../../state/test/contract.ts'
import { afterwards, temporaryFolder, testLog, until } from '../../state/test/state-folder.ts'
import { linesOf, startAudit } from './audit-folder.ts'

const line =
  '{"seq":7,"time":"2026-01-02T03:04:05.000Z","id":"i","prev":"p","type":"tool.call","status":"denied","user":"ä"}'

async function listen(t: TestContext, server: Server, at: number | string = 0): Promise<number> {
  if (typeof at === 'number') server.listen(at, '127.0.0.1')
  else server.listen(at)
  await once(server, 'listening')
  afterwards(t, () => void server.close())
  return typeof at === 'number' ? (server.address() as AddressInfo).port : 0
}

/** Takes octet-counted messages apart. */
function messagesOf(bytes: Buffer): string[] {
  const messages: string[] = []
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at)
    const length = Number(bytes.toString('latin1', at, space))
    messages.push(bytes.toString('utf8', space + 1, space + 1 + length))
    at = space + 1 + length
  }
  return messages
}

describe('syslog messages', () => {
  it('are RFC 5424, with the event as their text', () => {
    const message = syslogMessage(line)
    // Facility 13, severity 4 (warning).
    assert.match(message, /^<108>1 2026-01-02T03:04:05\.000Z \S+ assistant-core \d+ tool\.call - \{"seq":7,/)
    assert.ok(message.endsWith(line))
  })

  it('hold no more header fields than they should, whatever the event’s type is', () => {
    const hostile = line.replace('tool.call', 'a b\\n<1>ü')
    assert.match(syslogMessage(hostile), /^<108>1 \S+ \S+ assistant-core \d+ a_b_<1>_ - \{/)
  })
})

describe('forwarding', () => {
  for (const transport of ['tcp', 'unix'] as const) {
    it(
      `sends every event to syslog over ${transport}, in order, and again after the server was away`,
      { timeout: 30_000 },
      async (t) => {
        const received: Buffer[] = []
        const sockets = new Set<Socket>()
        const accept = (socket: Socket): void => {
          sockets.add(socket)
          socket.on('data', (chunk) => received.push(chunk)).on('error', () => undefined)
        }
        const path = join(await temporaryFolder(t), 's')
        const first = createServer(accept)
        const port = await listen(t, first, transport === 'unix' ? path : 0)
        const syslog = transport === 'unix' ? { transport, path } : { transport, host: '127.0.0.1', port }
        const { audit } = await startAudit(t, { syslog })
        const seqs = (): number[] =>
          messagesOf(Buffer.concat(received)).map(
            (text) => (JSON.parse(text.slice(text.indexOf('{'))) as AuditLine).seq,
          )
        for (let index = 0; index < 20; index++) void audit.record({ type: 'tool.call', status: 'ok' })
        await until(() => seqs().length === 20)
        assert.deepEqual(
          seqs(),
          Array.from({ length: 20 }, (_, index) => index + 1),
        )

        for (const socket of sockets) socket.destroy()
        first.close()
        await once(first, 'close')
        await new Promise((resolve) => setTimeout(resolve, 50))
        await audit.record({ type: 'tool.call', status: 'ok', target: 'while away' })
        await until(async () => (await audit.stats()).forwards[0]?.fault !== undefined)
        received.length = 0
        await listen(t, createServer(accept), transport === 'unix' ? path : port)
        await until(() => seqs().includes(21))
        await audit.record({ type: 'tool.call', status: 'ok' })
        await until(() => seqs().includes(22))
        await until(async () => (await audit.stats()).forwards[0]?.fault === undefined)
        for (const socket of sockets) socket.destroy()
      },
    )
  }

  it(
    'sends to syslog over TLS, to nobody whose certificate it does not trust',
    { timeout: 30_000 },
    async (t) => {
      const folder = await temporaryFolder(t)
      const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
      const request =
        'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
      const to = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert]
      const made = spawnSync('openssl', [...request.split(' '), ...to])
      if (made.status !== 0) return t.skip('there is no openssl to make a certificate with')
      const received: Buffer[] = []
      const options = { key: await readFile(key), cert: await readFile(cert) }
      const server = createTls(options, (socket) => {
        socket.on('data', (chunk) => received.push(chunk)).on('error', () => undefined)
      })
      const port = await listen(t, server)
      const syslog = { transport: 'tls', host: '127.0.0.1', port } as const
      const { audit } = await startAudit(t, { syslog })
      await audit.record({ type: 'tool.call', status: 'ok' })
      await until(async () => (await audit.stats()).forwards[0]?.fault !== undefined)
      assert.match((await audit.stats()).forwards[0]!.fault!, /self.signed certificate/)
      assert.equal(received.length, 0)
      audit.configure({ syslog: { ...syslog, ca_file: cert } })
      await audit.record({ type: 'tool.call', status: 'ok' })
      await until(() => Buffer.concat(received).includes('"seq":2'))
      assert.equal(messagesOf(Buffer.concat(received)).length, 1)
    },
  )

  it('sends to syslog over UDP', { timeout: 30_000 }, async (t) => {
    const server = createSocket('udp4')
    const received: string[] = []
    server.on('message', (message) => received.push(message.toString()))
    server.bind(0, '127.0.0.1')
    await once(server, 'listening')
    afterwards(t, () => void server.close())
    const { audit } = await startAudit(t, {
      syslog: { transport: 'udp', host: '127.0.0.1', port: server.address().port },
    })
    await audit.record({ type: 'sign_in.fail', status: 'denied', user: 'ann@example.com' })
    await until(() => received.length === 1)
    assert.match(received[0]!, /^<108>1 \S+ \S+ assistant-core \d+ sign_in\.fail - \{"seq":1,/)
  })

  it('sends events to a webhook, signed, and again when it refuses', { timeout: 30_000 }, async (t) => {
    const requests: { body: string; headers: IncomingHttpHeaders }[] = []
    let refusals = 1
    const server = createHttp((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (refusals-- > 0) return response.writeHead(503).end()
        requests.push({ body: Buffer.concat(chunks).toString(), headers: request.headers })
        return response.end('ok')
      })
    })
    const port = await listen(t, server)
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'secret'), 'shared\n')
    const { audit } = await startAudit(t, {
      webhook: {
        url: `http://127.0.0.1:${port}/hook`,
        secret_file: join(folder, 'secret'),
      },
    })
    await Promise.all([1, 2, 3].map(() => audit.record({ type: 'tool.call', status: 'ok' })))
    await until(() => requests.length > 0)
    const [{ body, headers } = assert.fail()] = requests
    assert.deepEqual(
      (JSON.parse(body) as { events: AuditLine[] }).events.map(({ seq }) => seq),
      [1, 2, 3],
    )
    const mac = createHmac('sha256', 'shared').update(body).digest('hex')
    assert.equal(headers['x-assistant-core-signature'], `sha256=${mac}`)
  })

  it(
    'never holds up or loses the log when nobody is there, and gives up at the end',
    { timeout: 30_000 },
    async (t) => {
      const { audit, folder, log } = await startAudit(t, {
        syslog: { transport: 'tcp', host: '127.0.0.1', port: 1 },
        webhook: { url: 'http://127.0.0.1:1/' },
      })
      for (let index = 0; index < 50; index++) await audit.record({ type: 'tool.call', status: 'ok' })
      const { forwards } = await audit.stats()
      assert.deepEqual(
        forwards.map(({ sent, waiting }) => [sent, waiting]),
        [
          [0, 50],
          [0, 50],
        ],
      )
      await audit.close()
      assert.equal((await linesOf(folder)).filter(({ type }) => type === 'tool.call').length, 50)
      assert.equal(log.lines.filter(({ message }) => message.includes('cannot be forwarded')).length, 2)
    },
  )

  it('keeps a bounded number of lines, drops the oldest, and counts them', async () => {
    let send: (() => void) | undefined
    const got: string[] = []
    const sink: Sink = {
      name: 'slow',
      send: (lines) =>
        new Promise((resolve) => {
          send = () => {
            send = undefined
            got.push(...lines)
            resolve()
          }
        }),
      close: () => undefined,
    }
    const forwarder = new Forwarder(sink, testLog())
    for (let index = 0; index < 10_500; index++) forwarder.offer([String(index)])
    assert.deepEqual(forwarder.stats(), { name: 'slow', waiting: 10_000, sent: 0, dropped: 500 })
    send!()
    await until(() => forwarder.stats().sent > 0)
    // The first handful was under way already; what follows is what was kept.
    assert.ok(got.every((text, index) => Number(text) === index))
    const closing = forwarder.close()
    await until(() => {
      send?.()
      return forwarder.stats().waiting === 0
    })
    await closing
    assert.equal(got.at(-1), '10499')
    assert.equal(new Set(got).size, got.length)
  })

  it('is refused to addresses that events may not go to', () => {
    for (const url of [
      'http://example.com/',
      'ftp://example.com/',
      'not a url',
      'https://user:pass@example.com/',
    ]) {
      assert.throws(() => webhookSink({ url }), isApp('invalid'), url)
    }
    webhookSink({ url: 'https://example.com/hook' }).close()
    assert.throws(() => syslogSink({ transport: 'tcp' }), isApp('invalid'))
    assert.throws(() => syslogSink({ transport: 'unix' }), isApp('invalid'))
  })

  it('changes with the settings, while the log goes on', { timeout: 30_000 }, async (t) => {
    const received: Buffer[] = []
    const server = createServer(
      (socket) => void socket.on('data', (chunk) => received.push(chunk)).on('error', () => undefined),
    )
    const port = await listen(t, server)
    const { audit } = await startAudit(t)
    await audit.record({ type: 'a.before', status: 'ok' })
    audit.configure({ syslog: { transport: 'tcp', host: '127.0.0.1', port } })
    await audit.record({ type: 'a.during', status: 'ok' })
    await until(() => Buffer.concat(received).includes('a.during'))
    assert.throws(() => audit.configure({ webhook: { url: 'nowhere' } }), isApp('invalid'))
    audit.configure({})
    await audit.record({ type: 'a.after', status: 'ok' })
    assert.deepEqual((await audit.stats()).forwards, [])
    assert.ok(!/a\.(before|after)/.test(Buffer.concat(received).toString()))
  })
})
