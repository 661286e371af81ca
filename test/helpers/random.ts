/**
 * fast-check whose draws are the same for the same commit: what CI draws, a run at home draws too, and another commit
 * draws anew. `TEST_SEED=17 npm test` asks for other draws.
 */
import { execFileSync } from 'node:child_process'
import process from 'node:process'
import { configureGlobal } from 'fast-check'

function seedOfCommit(): number {
  try {
    const head = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return Number.parseInt(head.slice(0, 7), 16)
  } catch {
    return 1 // no checkout
  }
}

const asked = process.env['TEST_SEED']
configureGlobal({ seed: asked === undefined ? seedOfCommit() : Number(asked) })

export * from 'fast-check'
