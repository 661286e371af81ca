/** A number that is the same for the same commit, for what is drawn. */
import { execFileSync } from 'node:child_process'

/** The number of the commit that is checked out. */
export function seedOfCommit(): number {
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
