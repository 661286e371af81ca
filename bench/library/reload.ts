/**
 * A prompt that changes among many, on the real daemon: how long until a user gets the new text, what it costs, and how
 * long the slowest request took meanwhile. `node --import tsx bench/library/reload.ts [PROMPTS…]`, after `npm run build`.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { median, startService, stopServerProcesses, table, usedBy, asking } from '../server-process.ts'

const given = process.argv.slice(2).map(Number)
const counts = given.length > 0 ? given : [10, 10_000]
const changes = 7

type Ask = ReturnType<typeof asking>

const folder = mkdtempSync(join(tmpdir(), 'assistant-core-reload-'))
try {
  const rows: (string | number)[][] = []
  for (const count of counts) rows.push(await measure(count))
  table(
    [
      'prompts',
      'new text after, ms',
      'CPU ms of it',
      'slowest ping meanwhile, ms',
      'slowest ping before, ms',
    ],
    rows,
  )
} finally {
  await stopServerProcesses()
  rmSync(folder, { recursive: true, force: true })
}

async function measure(count: number): Promise<(string | number)[]> {
  const home = join(folder, String(count))
  const prompts = join(home, 'site/prompts/many')
  mkdirSync(prompts, { recursive: true })
  const write = (index: number, more: string): void =>
    writeFileSync(join(prompts, `many-${index}.md`), textOf(index, more))
  for (let index = 0; index < count; index++) write(index, 'first')
  const { port, pid, tokenOf } = await startService(home)
  const ask = asking(port, await tokenOf('sales@example.com'))
  const seen = async (text: string): Promise<void> => {
    while (!(await ask('prompts/get', { name: 'many-1', arguments: { focus: 'a' } })).includes(text))
      await wait(5)
  }
  await seen('first')
  const before = await slowest(ask, wait(2_000))
  const [after, cost, meanwhile] = [[] as number[], [] as number[], [] as number[]]
  for (let change = 0; change < changes; change++) {
    const [began, used] = [performance.now(), usedBy(pid)]
    write(1, `change ${change}.`)
    const visible = seen(`change ${change}.`).then(() => after.push(performance.now() - began))
    meanwhile.push(await slowest(ask, visible))
    cost.push((usedBy(pid) - used) / 1000)
    await wait(500)
  }
  await stopServerProcesses()
  const [longest, usual] = [Math.max(...meanwhile), before]
  return [
    count.toLocaleString('en'),
    ...[median(after), median(cost), longest, usual].map((one) => Math.round(one)),
  ]
}

/** Pings one after the other until something has happened; answers the longest that one took, in milliseconds. */
async function slowest(ask: Ask, until: Promise<unknown>): Promise<number> {
  let longest = 0
  const happened = new AbortController()
  void until.finally(() => happened.abort())
  while (!happened.signal.aborted) {
    const began = performance.now()
    if (!(await ask('ping')).includes('"result":{}')) throw new Error('ping was not answered')
    longest = Math.max(longest, performance.now() - began)
    await wait(2)
  }
  return longest
}

function textOf(index: number, more: string): string {
  return `---
title: Prompt number ${index}
description: Does thing ${index % 100}
status: Published
visibility: Public
owner: hr@example.com
tags: [t${index % 50}]
arguments:
  - { argument_name: focus, argument_type: select, is_required: 1, allowed_values: 'a, b, c' }
---
Look at {{ focus }} with \`list_documents\`: ${more}
{% for step in [1, 2, 3] %}- step {{ step }} of ${index}
{% endfor %}
`
}
