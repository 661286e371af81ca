/** The floor: bare node:http that parses the request and answers bytes made before. One per method, from the environment. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'

const answers = new Map(
  Object.entries(JSON.parse(process.env['FLOOR_ANSWERS'] ?? '{}') as Record<string, string>).map(
    ([method, body]) => [method, Buffer.from(body)],
  ),
)

const server = createServer((req, res) => {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    const { method } = JSON.parse(Buffer.concat(chunks).toString()) as { method: string }
    const body = answers.get(method) ?? Buffer.from('{}')
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
    res.end(body)
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(
    `${JSON.stringify({ msg: 'listening', port: (server.address() as AddressInfo).port })}\n`,
  )
})
