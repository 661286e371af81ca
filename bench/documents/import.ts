/**
 * What `documents import` and `documents export` do in a minute on the embedded store: 20,000 documents of six fields, by
 * the command as an operator types it, from its start to its end; with the daemon that keeps them, and without one.
 * `node --import tsx bench/documents/import.ts`, after `npm run build`.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { table } from '../server-process.ts'

const launcher = resolve(import.meta.dirname, '../../bin/assistant-core')
const folder = mkdtempSync(join(tmpdir(), 'assistant-core-import-'))
const site = join(folder, 'site')
const count = 20_000

async function seconds(words: readonly string[]): Promise<number> {
  const began = performance.now()
  const child = spawn(launcher, [...words, '--site', site], { stdio: ['ignore', 'ignore', 'inherit'] })
  const code = await new Promise((done) => child.on('close', done))
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${String(code)}`)
  return (performance.now() - began) / 1000
}

async function serving(state: string): Promise<() => Promise<void>> {
  const child = spawn(launcher, ['serve', '--port', '0', '--site', site, '--state', state])
  const ended = new Promise<void>((done) => child.on('close', () => done()))
  await new Promise<void>((ready) =>
    child.stdout.on('data', (text: Buffer) => {
      if (/"port":\d+/.test(text.toString())) ready()
    }),
  )
  return async () => {
    child.kill()
    await ended
  }
}

const rows = Array.from({ length: count }, (_, n) => ({
  customer_name: `Customer ${n}`,
  customer_group: 'Retail',
  territory: 'North',
  email: `c${n}@example.com`,
  phone: `030 ${n}`,
  city: 'Berlin',
}))
const csv = join(folder, 'customers.csv')
const jsonl = join(folder, 'customers.jsonl')
writeFileSync(
  csv,
  [Object.keys(rows[0]!), ...rows.map(Object.values)].map((cells) => `${cells.join(',')}\n`).join(''),
)
writeFileSync(jsonl, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

const told: [string, string, string][] = []
const tell = (what: string, took: number): number =>
  told.push([what, `${took.toFixed(1)} s`, Math.round((count / took) * 60).toLocaleString('en')])
try {
  await seconds(['init', site, '--template', 'trading'])
  for (const daemon of [false, true]) {
    const state = join(folder, daemon ? 'served' : 'alone')
    const words = (...more: string[]): string[] => [...more, '--json', '--state', state]
    const where = daemon ? 'in a daemon' : 'without a daemon'
    // The first of all makes the state.
    await seconds(words('users', 'list'))
    const stop = daemon ? await serving(state) : undefined
    tell(`dry run of CSV, ${where}`, await seconds(words('documents', 'import', 'Customer', csv)))
    tell(`CSV, ${where}`, await seconds(words('documents', 'import', 'Customer', csv, '--write')))
    const again = words(
      'documents',
      'import',
      'Supplier',
      jsonl,
      '--map',
      'customer_name=supplier_name',
      '--write',
    )
    tell(`JSON lines, ${where}`, await seconds(again))
    const out = words('documents', 'export', 'Customer', '--user', 'admin@example.com')
    tell(`export, ${where}`, await seconds(out))
    await stop?.()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
table(['', 'time', 'documents a minute'], told)
