/**
 * What reading a site of many prompts costs: all of it, all of it again when nothing changed, and when the watcher told of one
 * change. Processor time of this process. `node --import tsx packages/site/bench/reading.ts [FILES…]`
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { emptyCache, readSite } from '#site/read-site.ts'
import { Noticed } from '#site/watch-site.ts'
import { table } from '../../../bench/server-process.ts'

const given = process.argv.slice(2).map(Number)
const counts = given.length > 0 ? given : [100, 10_000]

const rows: (string | number)[][] = []
for (const count of counts) {
  const folder = mkdtempSync(join(tmpdir(), 'site-bench-'))
  try {
    rows.push([count, ...(await measure(folder, count))])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
table(['files', 'all of them, ms', 'nothing changed, ms', 'one is known to have changed, ms'], rows)

async function measure(site: string, count: number): Promise<string[]> {
  mkdirSync(join(site, 'prompts'))
  const write = (index: number, text: string): void =>
    writeFileSync(
      join(site, `prompts/many-${index}.md`),
      `---\ntitle: Prompt ${index}\nstatus: Published\narguments:\n  - name: focus\n    type: text\n---\n\n${text} {{ focus }}\n`,
    )
  for (let index = 0; index < count; index++) write(index, 'Say it.')
  const [cache, noticed] = [emptyCache(), new Noticed()]
  const whole = await costOf(() => readSite(site, { cache }))
  noticed.take()
  const again = await costOf(() => readSite(site, { cache }))
  write(0, 'Say it otherwise.')
  noticed.note('prompts/many-0.md')
  const changed = await costOf(() => readSite(site, { cache, noticed }))
  return [whole, again, changed]
}

async function costOf(work: () => Promise<unknown>): Promise<string> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1000).toFixed(1)
}
