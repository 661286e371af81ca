/**
 * What a request costs on a small site and on a large one (10 and 10,000 prompts, 10 and 1,000 tools and doctypes) where
 * the answer is the same: whoever asks sees ten of each. Both daemons are there at once and take turns; processor time,
 * the least of the rounds. `node --import tsx bench/library/growth.ts`, after `npm run build`.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService, stopServerProcesses, table, usedBy, asking } from '../server-process.ts'

const rounds = 7
const requests = 300
const seen = 10

interface Question {
  readonly method: string
  readonly params: object
}

const call = (name: string, args: object): Question => ({
  method: 'tools/call',
  params: { name, arguments: args },
})
const questions: Readonly<Record<string, Question>> = {
  ping: { method: 'ping', params: {} },
  'prompts/get': { method: 'prompts/get', params: { name: 'many-1', arguments: { focus: 'a' } } },
  'prompts/list': { method: 'prompts/list', params: {} },
  'completion/complete': {
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'many-1' }, argument: { name: 'focus', value: 'b' } },
  },
  'resources/list': { method: 'resources/list', params: {} },
  'tools/list': { method: 'tools/list', params: {} },
  'tools/call get_document': call('get_document', { doctype: 'Customer', name: 'Müller Bau' }),
  'tools/call list_documents': call('list_documents', { doctype: 'Customer', limit: 20 }),
  'tools/call get_doctype_info': call('get_doctype_info', { doctype: 'Thing 1' }),
  'tools/call search_documents': call('search_documents', { query: 'Müller' }),
}

type Ask = ReturnType<typeof asking>

const folder = mkdtempSync(join(tmpdir(), 'assistant-core-growth-'))
try {
  const small = await serve('small', 10, 10)
  const large = await serve('large', 10_000, 1_000)
  const rows: (string | number)[][] = []
  for (const [name, question] of Object.entries(questions)) {
    assert.equal(
      (await large.ask(question.method, question.params)).length,
      (await small.ask(question.method, question.params)).length,
      name,
    )
    const least = [Infinity, Infinity]
    for (let round = 0; round < rounds; round++)
      for (const [which, { pid, ask }] of [small, large].entries()) {
        const used = usedBy(pid)
        for (let request = 0; request < requests; request++) await ask(question.method, question.params)
        least[which] = Math.min(least[which]!, (usedBy(pid) - used) / requests)
      }
    rows.push([name, ...least.map(Math.round), `${(least[1]! / least[0]!).toFixed(2)} ×`])
  }
  table(['CPU µs a request', 'small site', 'large site', ''], rows)
} finally {
  await stopServerProcesses()
  rmSync(folder, { recursive: true, force: true })
}

async function serve(
  name: string,
  prompts: number,
  others: number,
): Promise<{ readonly pid: number; readonly ask: Ask }> {
  const home = join(folder, name)
  const write = (place: string, count: number, text: (index: number, roles: string) => string): void => {
    mkdirSync(join(home, 'site', place), { recursive: true })
    for (let index = 0; index < count; index++)
      writeFileSync(
        join(home, 'site', place, `many-${index}.${place.startsWith('prompts') ? 'md' : 'yaml'}`),
        text(index, index < seen ? 'Sales User' : 'HR Manager'),
      )
  }
  write('prompts/many', prompts, promptText)
  write('config/tools', others, toolText)
  write('config/doctypes', others, doctypeText)
  const { port, pid, tokenOf } = await startService(home)
  return { pid, ask: asking(port, await tokenOf('sales@example.com')) }
}

function promptText(index: number, role: string): string {
  return `---
title: Prompt number ${index}
status: Published
visibility: Shared
shared_with_roles: [${role}]
owner: hr@example.com
arguments:
  - { argument_name: focus, argument_type: select, is_required: 1, allowed_values: 'a, b, c' }
---
Look at {{ focus }}.
`
}

function toolText(index: number, role: string): string {
  return `type: http
tool: many_${index}
description: Answers with the number ${index}, whatever is asked.
input: { type: object, additionalProperties: false, properties: { city: { type: string } } }
method: GET
url: https://api.example.com/many/${index}
roles: [${role}]
`
}

function doctypeText(index: number, role: string): string {
  return `doctype: Thing ${index}
naming: { rule: hash }
fields:
  - { fieldname: subject, type: text, required: true }
  - { fieldname: amount, type: number, index: true }
permissions:
  - { role: ${role}, actions: [read, write, create] }
`
}
