/**
 * Runs the tests for every day on each supported Node but the one that runs this (`npm run test:nodes`), or what is asked
 * for on those that are named: `npm run test:nodes -- 24 26 oauth`. With `--shared` each runs its share of the files, other
 * ones with each commit, and all run what speaks to Node most closely.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { supportedNodes, withNode } from '../scripts/nodes.ts'

const asked = process.argv.slice(2)
const named = supportedNodes.filter((major) => asked.includes(String(major)))
const own = Number(process.versions.node.split('.')[0])
const majors = named.length > 0 ? named : supportedNodes.filter((major) => major !== own)
const shared = asked.includes('--shared')
const words = asked.filter((word) => word !== '--shared' && !named.includes(Number(word)))
/** Sockets, bodies, files and processes: what another Node is most likely to do otherwise. */
const closest = ['packages/front/', 'packages/leaf/', 'test/http/', 'test/cli/nodes']

const told: string[] = []
for (const [index, major] of majors.entries()) {
  const { env, version } = withNode(major)
  console.log(`\n== Node ${version}`)
  const began = performance.now()
  const run = join(import.meta.dirname, 'run.ts')
  const runs = shared ? [closest, [`--part=${index + 1}/${majors.length}`]] : [words]
  const failed = runs.filter(
    (args) => spawnSync('node', ['--import', 'tsx', run, ...args], { env, stdio: 'inherit' }).status !== 0,
  )
  if (failed.length > 0) process.exitCode = 1
  const seconds = Math.round((performance.now() - began) / 1000)
  told.push(`Node ${version}: ${failed.length === 0 ? 'all well' : 'FAILED'}, ${seconds} s`)
}
console.log(`\n${told.join('\n')}`)
