// Carries MCP between a program that speaks stdio and a server that speaks HTTP, under one API key. Node 18 or newer.
import { createInterface } from 'node:readline'
import process from 'node:process'

const url = process.env.MCP_URL
const authorization = `token ${process.env.MCP_KEY?.trim().replace(/^(authorization:)?\s*(token )?/i, '')}`
let revision
let session

/** @param {string} line */
async function carry(line) {
  const message = JSON.parse(line)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(revision && { 'mcp-protocol-version': revision }),
        ...(session && { 'mcp-session-id': session }),
      },
      body: line,
    })
    session = response.headers.get('mcp-session-id') ?? session
    if (response.headers.get('content-type')?.startsWith('text/event-stream'))
      return await readEvents(response)
    const text = await response.text()
    if (isAnswer(text)) return hand(text)
    if (!response.ok) throw new Error(`the server answered ${response.status}: ${text.slice(0, 300)}`)
  } catch (error) {
    if (message.id !== undefined && message.method)
      hand(
        JSON.stringify({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: -32000, message: String(error.cause ?? error) },
        }),
      )
    process.stderr.write(`${String(error)}\n`)
  }
}

async function readEvents(response) {
  let rest = ''
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + part).split(/\r?\n\r?\n/)
    rest = events.pop() ?? ''
    for (const event of events) {
      const data = [...event.matchAll(/^data: ?(.*)$/gm)].map(([, text]) => text).join('\n')
      if (isAnswer(data)) hand(data)
    }
  }
}

/** @param {string} text */
function isAnswer(text) {
  return /^\s*\{[^]*"jsonrpc"/.test(text)
}

/** @param {string} text */
function hand(text) {
  const message = JSON.parse(text)
  revision = message.result?.protocolVersion ?? revision
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

let last = Promise.resolve()
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line.trim() === '') return
  // The first answer says what all later ones need; after it, calls run side by side.
  const turn = revision === undefined ? last.then(() => carry(line)) : carry(line)
  last = revision === undefined ? turn : last
})
