/**
 * What questions about very many embedded documents take of the daemon's own thread at once, and of its memory:
 * `node --import tsx bench/documents/turns.ts [documents]`, a million without a number, after `npm run build`. The real daemon
 * starts on them and is asked each question alone; meanwhile `/healthz` and another user's call are asked every 20 ms. A turn
 * is told in its processor time; memory is told after each question, and the most since the start last.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { table } from '../server-process.ts'
import { heads, prepared, siteWithoutLimits, WatchedDaemon } from '../watched-daemon.ts'

const size = Number(process.argv[2] ?? 1_000_000)
const opportunity = { doctype: 'Opportunity' }
const few = { ...opportunity, limit: 20 }

const questions: readonly [what: string, tool: string, args: object][] = [
  ['first list after the start', 'list_documents', few],
  ['list newest', 'list_documents', few],
  ['order without an index', 'list_documents', { ...few, order_by: 'amount desc' }],
  ['three orders, offset 200,000', 'list_documents', deep('stage,title desc,amount', 0.2)],
  ['order without an index, offset 900,000', 'list_documents', deep('title', 0.9)],
  ['order with an index, offset 900,000', 'list_documents', deep('expected_close', 0.9)],
  ['a filter with an index that leaves 400,000', 'list_documents', won({ ...few, order_by: 'title' })],
  ['the same, counted with another', 'count_documents', won(opportunity, ['amount', '>', 10])],
  ['group by a unique field', 'aggregate', grouped('title')],
  ['group by two, one unique', 'aggregate', grouped('name', 'title')],
  ['group by an indexed field', 'aggregate', grouped('stage')],
  ['part of a text', 'list_documents', { ...few, filters: [['title', 'like', '%order 472%']] }],
  ['first search', 'search_doctype', { ...opportunity, query: 'order 00472' }],
  ['search for a word in all', 'search_doctype', { ...opportunity, query: 'order' }],
  ['search for many words in all', 'search_doctype', { ...opportunity, query: 'order amber 47' }],
  ['suggestions of a link', 'search_link', { ...opportunity, query: 'order 99' }],
]

const undo: (() => unknown)[] = []
const t = { after: (step: () => unknown) => void undo.push(step) } as never
try {
  await measure()
} finally {
  for (const step of undo.reverse()) await step()
}

async function measure(): Promise<void> {
  const site = siteWithoutLimits(t)
  const made = await prepared(t, site)
  const filling = [join(import.meta.dirname, 'documents.ts'), 'fill', String(size), made.state]
  const [code] = (await once(spawn(process.execPath, ['--import', 'tsx', ...filling]), 'exit')) as [number]
  if (code !== 0) throw new Error(`filling ended with ${code}`)
  // The first question is told with all since the daemon listened.
  const watched = await WatchedDaemon.start(t, site, made)
  const rows: (string | number)[][] = []
  for (const [what, tool, args] of questions) {
    const { cells } = await watched.measure(() => watched.call(made.asking, tool, args))
    rows.push([what, ...cells])
    process.stderr.write(`${rows.at(-1)!.join('   ')}\n`)
  }
  rows.push(['the most of all', '', '', '', '', watched.memory('HWM')])
  table(['question', ...heads], rows)
}

function deep(order: string, share: number): object {
  return { ...few, order_by: order, offset: Math.floor(size * share) }
}

function won(args: object, ...more: readonly unknown[][]): object {
  return { ...args, filters: [['stage', 'in', ['Won', 'Lost']], ...more] }
}

function grouped(...fields: readonly string[]): object {
  return { ...opportunity, group_by: fields, metrics: [{ function: 'count' }] }
}
