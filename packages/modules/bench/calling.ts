/** A module's start and its calls, processor of both sides. `node --import tsx packages/modules/bench/calling.ts [CALLS]` */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { createLog } from '#leaf/log.ts'
import { bundleModule } from '#modules/bundle.ts'
import { ModuleProcess } from '#modules/process.ts'
import { table } from '../../../bench/server-process.ts'

const calls = Number(process.argv[2] ?? 2000)
const folder = mkdtempSync(join(tmpdir(), 'modules-'))
const text = `export const tools = ({ defineTool }) => [
  defineTool({ name: 'plain', run: async ({ n }) => ({ pid: process.pid, twice: n * 2 }) }),
  defineTool({ name: 'asking', run: async ({ n }, { twice }) => ({ twice: await twice(n) }) }),
]`
writeFileSync(join(folder, 'a.ts'), text)
const bundle = await bundleModule(folder, 'a.ts')
if (!('text' in bundle)) throw new Error(JSON.stringify(bundle))
const log = createLog('error', process.stderr)
const parts = { bundle, memoryMegabytes: 256, memorySetting: 'none', log, onFault: console.error }
const module = new ModuleProcess(parts)
const began = performance.now()
await module.start()
const started = performance.now() - began
const call = (tool: string, n: number): Promise<unknown> =>
  module.call({
    tool,
    args: { n },
    given: {},
    asks: { twice: async (n: number) => n * 2 },
    tells: {},
    isEnd: () => false,
    signal: new AbortController().signal,
    requestId: 'bench',
  })
const { pid } = (await call('plain', 0)) as { pid: number }
/** Processor time of the child so far, in microseconds: its ticks are hundredths of a second. */
const childTime = (): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}
const told: (string | number)[][] = []
for (const tool of ['plain', 'asking']) {
  for (let n = 0; n < calls / 4; n++) await call(tool, n)
  const [own, other, at] = [process.cpuUsage(), childTime(), performance.now()]
  for (let n = 0; n < calls; n++) await call(tool, n)
  const { user, system } = process.cpuUsage(own)
  const each = (all: number): number => Math.round(all / calls)
  const waited = (performance.now() - at) * 1000
  told.push([tool, each(user + system), each(childTime() - other), each(waited)])
}
table([`a call (start: ${Math.round(started)} ms)`, 'daemon, µs', 'module, µs', 'waited, µs'], told)
module.close()
rmSync(folder, { recursive: true })
