/**
 * Runs the test files: all of them, or those whose path contains one of the words given
 * (`npm test -- jinja oauth`). Node 20's own discovery finds no TypeScript and exits 0, so the
 * files are listed here, and finding none is a failure.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import { run } from 'node:test'
import { spec, tap } from 'node:test/reporters'

// Tests that spawn the program run what users run.
execFileSync(process.execPath, [join(import.meta.dirname, '../scripts/build.mjs')], { stdio: 'inherit' })

const words = process.argv.slice(2)
const root = import.meta.dirname
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => join(root, file))
  .filter((file) => words.length === 0 || words.some((word) => relative(root, file).includes(word)))
  .sort()

if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ') || 'test/**/*.test.ts'}`)
  process.exit(1)
}

const results = run({ files, concurrency: 2, timeout: 600_000 })
let executed = 0
results.on('test:pass', () => executed++)
results.on('test:fail', () => {
  executed++
  process.exitCode = 1
})
results.on('end', () => {
  if (executed === 0) process.exitCode = 1
})
if (process.stdout.isTTY) results.compose(new spec()).pipe(process.stdout)
else results.compose(tap).pipe(process.stdout)
