/** The Node versions that people have: what the program says of them, and what it does on the one that runs this. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { supportedNodes } from '../../scripts/nodes.ts'
import { projectRoot, runCli, startDaemon } from '../helpers/daemon.ts'

const text = (name: string): string => readFileSync(join(projectRoot, name), 'utf8')

describe('on every supported Node', () => {
  it('a command prints what was asked and nothing else', async () => {
    const { code, stdout, stderr } = await runCli(['--version'])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  })

  const told = process.platform === 'linux' ? false : 'only Linux tells what memory another process keeps'
  it('a daemon keeps nothing that only its start needed', { skip: told }, async (t) => {
    const { process: child } = await startDaemon(t)
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1])
    // With the collection at the end of the start at most 135 MB on each Node, without it 161 and more.
    assert.ok(kilobytes < 148_000, `${kilobytes} kB`)
  })

  const flags =
    /(?<!import \{ (?:getHeap(?:Space)?Statistics|serialize|deserialize) \} from ')node:v8|--interrupt-budget|setFlagsFromString/
  it('no flag of V8 is set: most are undocumented, and the next version may refuse them', () => {
    const packages = readdirSync(join(projectRoot, 'packages')).map((name) => `packages/${name}/src`)
    for (const folder of ['src', 'bin', 'scripts', ...packages])
      for (const name of readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' }))
        if (/\.(?:ts|mjs)$|assistant-core$/.test(name))
          assert.doesNotMatch(text(join(folder, name)), flags, name)
  })
})

describe('the supported versions of Node', () => {
  it('are the same wherever they are named, and the newest is what images use', () => {
    assert.deepEqual(supportedNodes, [20, 22, 24, 26])
    const engines = (name: string): unknown => (JSON.parse(text(name)) as { engines: unknown }).engines
    assert.deepEqual(engines('packages/jinja/package.json'), engines('package.json'))
    assert.match(text('container/Containerfile'), /^ARG BASE=docker\.io\/library\/node:26-/m)
    assert.match(text('README.md'), /Node\.js 26, 24 or 22 and npm/)
    assert.match(text('systemd/README.md'), /Node\.js 26 \(24 and 22/)
    assert.match(text('.ci/run'), /^run_and_again 'npm run test:nodes -- --shared' /m)
  })
})
