/**
 * Runs the tests for every day on each supported Node but the one that runs this (`npm run test:nodes`), or what is asked
 * for on those that are named: `npm run test:nodes -- 24 26 oauth`.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { supportedNodes, withNode } from '../scripts/nodes.ts'

const asked = process.argv.slice(2)
const named = supportedNodes.filter((major) => asked.includes(String(major)))
const own = Number(process.versions.node.split('.')[0])
const majors = named.length > 0 ? named : supportedNodes.filter((major) => major !== own)
const words = asked.filter((word) => !named.includes(Number(word)))

const told: string[] = []
for (const major of majors) {
  const { env, version } = withNode(major)
  console.log(`\n== Node ${version}`)
  const began = performance.now()
  const run = join(import.meta.dirname, 'run.ts')
  const { status } = spawnSync('node', ['--import', 'tsx', run, ...words], { env, stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
  const seconds = Math.round((performance.now() - began) / 1000)
  told.push(`Node ${version}: ${status === 0 ? 'all well' : 'FAILED'}, ${seconds} s`)
}
console.log(`\n${told.join('\n')}`)
