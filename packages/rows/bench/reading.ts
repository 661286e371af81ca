/** Opening and reading a file of 200,000 rows of five cells. `node --import tsx packages/rows/bench/reading.ts [ROWS]` */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { openSource } from '#rows/open-source.ts'
import { defaultSandboxSettings } from '#sandbox/settings.ts'
import { table } from '../../../bench/server-process.ts'

const count = Number(process.argv[2] ?? 200_000)
const folder = mkdtempSync(join(tmpdir(), 'rows-'))
const names = ['name', 'country', 'since', 'turnover', 'says']
const rows = Array.from({ length: count }, (_, at) => [
  `Customer ${at}`,
  at % 3 === 0 ? 'DE' : 'FR',
  `2026-01-${String((at % 28) + 1).padStart(2, '0')}`,
  `${at}.50`,
  `"it; said ""${at}"""`,
])
const files = {
  CSV: ['a.csv', [names, ...rows].map((row) => row.join(';')).join('\n')],
  'JSON lines': [
    'a.jsonl',
    rows
      .map((row) => JSON.stringify(Object.fromEntries(row.map((cell, at) => [names[at], cell]))))
      .join('\n'),
  ],
} as const
try {
  const told = []
  for (const [form, [name, text]] of Object.entries(files)) {
    const path = join(folder, name)
    writeFileSync(path, text)
    const used = process.cpuUsage()
    const source = await openSource(path, {}, defaultSandboxSettings().files)
    const opened = process.cpuUsage(used)
    let cells = 0
    for await (const row of source.rows()) cells += row.cells.length
    const all = process.cpuUsage(used)
    if (cells !== count * names.length) throw new Error(`${form}: ${cells} cells`)
    const each = ({ user, system }: NodeJS.CpuUsage): string => ((user + system) / count).toFixed(1)
    told.push([form, each(opened), each(all), Math.round(process.memoryUsage.rss() / 1e6)])
  }
  table(['form', 'opened, µs a row', 'opened and read, µs a row', 'memory of the process, MB'], told)
} finally {
  rmSync(folder, { recursive: true })
}
