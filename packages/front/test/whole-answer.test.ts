import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import process from 'node:process'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { takesSign, WholeAnswers } from '#front/whole-answer.ts'

const answers = new WholeAnswers()
const answerWhole: WholeAnswers['send'] = (...answer) => answers.send(...answer)

/** A connection to a server that answers so, and what has come on it. */
async function connection(
  t: TestContext,
  listener: RequestListener,
): Promise<{ socket: Socket; got: () => string }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  let text = ''
  socket.on('data', (bytes) => (text += bytes.toString('latin1')))
  return { socket, got: () => text }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

const get = (path: string, version = '1.1', more = ''): string =>
  `GET ${path} HTTP/${version}\r\nHost: x\r\n${more}\r\n`

describe('a whole answer', () => {
  it('says its length in bytes, its date and for how long the connection is kept', async (t) => {
    const { socket, got } = await connection(t, (request, response) =>
      answerWhole(response, 201, { 'X-From': request.url! }, '{"a":"ü"}'),
    )
    for (const path of ['/first', '/second']) {
      socket.write(get(path))
      await until(() => got().includes(`X-From: ${path}`) && got().endsWith('}'))
    }
    const answers = got().split(/(?=HTTP\/1\.1)/)
    assert.equal(answers.length, 2)
    const [head, body] = answers[0]!.split('\r\n\r\n')
    assert.match(
      head!,
      /^HTTP\/1\.1 201 Created\r\nX-From: \/first\r\nContent-Length: 10\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\nDate: (.*GMT)$/,
    )
    const date = Date.parse(/Date: (.*)/.exec(head!)![1]!)
    assert.ok(Math.abs(date - Date.now()) < 10_000)
    assert.equal(body, Buffer.from('{"a":"ü"}').toString('latin1'))
  })

  it('takes bytes as well as text, and ends the response for those who watch it', async (t) => {
    const ended: unknown[] = []
    const { socket, got } = await connection(t, (_, response) => {
      response.once('close', () =>
        ended.push([response.statusCode, response.writableFinished, response.headersSent]),
      )
      answerWhole(response, 200, {}, Buffer.from([0xff, 0x00, 0x41]))
    })
    socket.write(get('/'))
    await until(() => ended.length === 1)
    await until(() => got().endsWith('\r\n\r\n\xff\x00A'))
    assert.deepEqual(ended, [[200, true, true]])
  })

  it('keeps the order of requests that did not wait for each other', async (t) => {
    const { socket, got } = await connection(t, (request, response) => {
      setTimeout(() => answerWhole(response, 200, {}, request.url!), request.url === '/slow' ? 50 : 0)
    })
    socket.write(get('/slow') + get('/fast') + get('/last'))
    await until(() => got().includes('/last'))
    assert.deepEqual(got().match(/\/(slow|fast|last)/g), ['/slow', '/fast', '/last'])
  })

  it('goes out when the turn ends, with all others of that turn', async (t) => {
    const waiting: ServerResponse[] = []
    const listener: RequestListener = (_, response) => void waiting.push(response)
    const clients = [await connection(t, listener), await connection(t, listener)]
    for (const { socket } of clients) socket.write(get('/'))
    await until(() => waiting.length === 2)
    for (const response of waiting) answerWhole(response, 200, {}, 'done')
    assert.deepEqual(
      waiting.map(({ socket, headersSent }) => [socket!.bytesWritten, headersSent]),
      [
        [0, true],
        [0, true],
      ],
    )
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(
      waiting.map(({ writableEnded }) => writableEnded),
      [true, true],
    )
    for (const { got } of clients) await until(() => got().endsWith('done'))
  })

  it('ends the connection where the client or the server wants it to end', async (t) => {
    for (const request of [get('/', '1.0'), get('/', '1.1', 'Connection: close\r\n')]) {
      const { socket, got } = await connection(t, (_, response) => answerWhole(response, 200, {}, 'done'))
      socket.write(request)
      await new Promise((resolve) => socket.once('close', resolve))
      assert.match(got(), /\r\nConnection: close\r\n[^]*done$/)
    }
    const { socket, got } = await connection(t, (_, response) =>
      answerWhole(response, 413, { Connection: 'close' }, 'too large'),
    )
    socket.write(get('/'))
    await new Promise((resolve) => socket.once('close', resolve))
    assert.match(got(), /^HTTP\/1\.1 413 [^]*\r\nConnection: close\r\n[^]*too large$/)
  })

  it('has the headers that others set before, and none that would end the head', async (t) => {
    const faults: unknown[] = []
    const { socket, got } = await connection(t, (request, response) => {
      response.setHeader('X-Set', 'before')
      const injected = request.url === '/bad' ? 'a\r\nX-Injected: b' : 'a'
      try {
        answerWhole(response, 200, { 'X-Given': injected }, 'body')
      } catch (error) {
        faults.push((error as NodeJS.ErrnoException).code)
        response.writeHead(500).end('refused')
      }
    })
    socket.write(get('/'))
    await until(() => got().endsWith('body'))
    assert.match(got(), /X-Set: before[^]*X-Given: a\r\n/)
    socket.write(get('/bad'))
    await until(() => got().includes('refused'))
    assert.deepEqual(faults, ['ERR_INVALID_CHAR'])
    assert.doesNotMatch(got(), /Injected/)
  })

  it('refuses line ends in a header also where nobody set one before', async (t) => {
    const faults: unknown[] = []
    const { socket, got } = await connection(t, (_, response) => {
      try {
        answerWhole(response, 200, { 'X-Given': 'a\r\nX-Injected: b' }, 'body')
      } catch (error) {
        faults.push((error as NodeJS.ErrnoException).code)
        answerWhole(response, 500, {}, 'refused')
      }
    })
    socket.write(get('/'))
    await until(() => got().includes('refused'))
    assert.deepEqual(faults, ['ERR_INVALID_CHAR'])
    assert.doesNotMatch(got(), /Injected/)
  })

  it('is finished only when a slow reader has taken it', async (t) => {
    let finished = false
    const body = 'x'.repeat(20 * 1024 * 1024)
    const { socket, got } = await connection(t, (_, response) => {
      response.once('finish', () => (finished = true))
      answerWhole(response, 200, {}, body)
    })
    socket.pause()
    socket.write(get('/'))
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.equal(finished, false)
    socket.resume()
    await until(() => finished)
    await until(() => got().length > body.length)
  })
})

describe('the sign that a head is written', () => {
  const fresh = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()))

  it('is taken by this Node, so that a whole answer is one write', () => {
    assert.equal(takesSign(fresh()), true)
  })

  it('is not given where Node keeps it elsewhere, or would write another head', () => {
    const elsewhere = fresh()
    Reflect.deleteProperty(elsewhere, '_header')
    assert.equal(takesSign(elsewhere), false)
    const unseen = Object.defineProperty(fresh(), 'headersSent', { value: false })
    assert.equal(takesSign(unseen), false)
    const again = Object.defineProperty(fresh(), 'writableLength', { value: 19 })
    assert.equal(takesSign(again), false)
  })

  it('leaves the answer to Node where it is not taken', async () => {
    const source = new URL('../src/whole-answer.ts', import.meta.url).href
    const script = `
      import { createServer, OutgoingMessage, request } from 'node:http'
      Object.defineProperty(OutgoingMessage.prototype, 'headersSent', { get: () => false })
      const { WholeAnswers } = await import('${source}')
      const answers = new WholeAnswers()
      const server = createServer((_, response) => answers.send(response, 201, { 'X-From': 'us' }, 'done'))
      server.listen(0, '127.0.0.1', () => {
        const asked = request({ port: server.address().port, agent: false }, async (answer) => {
          let body = ''
          for await (const bytes of answer) body += bytes
          const { connection, 'keep-alive': kept, 'x-from': from, 'content-length': length } = answer.headers
          console.log(JSON.stringify([answer.statusCode, from, length, connection, kept ?? null, body]))
          server.close()
        })
        asked.setHeader('Connection', 'keep-alive').end()
      })`
    const args = ['--import', 'tsx', '--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    assert.deepEqual(JSON.parse(stdout), [201, 'us', '4', 'keep-alive', 'timeout=5', 'done'])
  })
})
