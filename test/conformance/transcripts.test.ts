/**
 * Wire transcripts: what is sent and what comes back, byte for byte where it matters. In an expected answer `<any>`
 * stands for a value that differs from run to run; in a later message `<NAME>` stands for what `keep` took before.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { promptOf, skillOf, startServer } from '../mcp/server.ts'
import { add, adminOnly, askName, echo, slow } from '../mcp/tools-for-tests.ts'

interface Transcript {
  readonly about: string
  readonly exchanges: readonly Exchange[]
}

interface Exchange {
  readonly about?: string
  readonly method?: string
  readonly headers?: Record<string, string>
  /** The body as it goes over the wire. */
  readonly send?: string
  readonly status: number
  /** Headers that the answer must have; null for one that it must not have. */
  readonly answer_headers?: Record<string, string | null>
  /** Every message of the answer; absent for an empty body. */
  readonly answer?: readonly unknown[]
  /** Names for parts of the last message, as paths, or of headers. */
  readonly keep?: Record<string, string>
}

const folder = join(import.meta.dirname, 'transcripts')
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'))

describe('the wire transcript', () => {
  assert.ok(files.length >= 6, 'there are transcripts to play')
  for (const file of files) {
    const transcript = parse(readFileSync(join(folder, file), 'utf8')) as Transcript
    it(`${file}: ${transcript.about}`, async (t) => {
      const server = await startServer(t, {
        tools: [echo, add, adminOnly, askName, slow],
        prompts: [promptOf('greet')],
        skills: [skillOf('demo', { 'SKILL.md': '# Demo\n', 'references/a.md': 'a' })],
      })
      const kept = new Map<string, string>()
      const filled = (text: string): string =>
        text.replaceAll(/<(\w+)>/g, (all, name: string) => kept.get(name) ?? all)

      for (const exchange of transcript.exchanges) {
        const where = `${file}: ${exchange.about ?? exchange.send ?? ''}`
        const headers = Object.entries(exchange.headers ?? {}).map(([name, value]) => [name, filled(value)])
        const answer = await server.send(
          filled(exchange.send ?? ''),
          Object.fromEntries(headers) as Record<string, string>,
          exchange.method,
        )
        assert.equal(answer.status, exchange.status, `${where}\n${answer.text}`)
        for (const [name, value] of Object.entries(exchange.answer_headers ?? {})) {
          const got = answer.headers.get(name)
          if (value === '<any>') assert.ok(got, `${where}: ${name}`)
          else assert.equal(got, value === null ? null : filled(value), `${where}: ${name}`)
        }
        assert.deepEqual(
          answer.messages.map((message, index) => masked(message, exchange.answer?.[index])),
          exchange.answer ?? [],
          where,
        )
        for (const [name, path] of Object.entries(exchange.keep ?? {})) {
          kept.set(name, answer.headers.get(path) ?? String(at(answer.json, path.split('.'))))
        }
      }
    })
  }
})

/** The value with `<any>` wherever the expected one says so. */
function masked(value: unknown, expected: unknown): unknown {
  if (expected === '<any>') return value === undefined ? undefined : '<any>'
  if (Array.isArray(value) && Array.isArray(expected)) {
    return value.map((item, index) => masked(item, expected[index]))
  }
  if (isRecord(value) && isRecord(expected)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked(item, expected[key])]))
  }
  return value
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((here, key) => (isRecord(here) ? here[key] : undefined), value)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
