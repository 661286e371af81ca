/** The floor: bare node:http that parses the request and answers bytes made before. */
import { createServer } from 'node:http'
import process from 'node:process'

const answers = new Map(
  Object.entries(JSON.parse(process.env.FLOOR_ANSWERS)).map(([key, body]) => [key, Buffer.from(body)]),
)

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const { method, params } = JSON.parse(Buffer.concat(chunks).toString())
    const body = answers.get(method === 'tools/call' ? `${method} ${params.name}` : method)
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ msg: 'listening', port: server.address().port })}\n`),
)
