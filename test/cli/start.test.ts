/** What a start loads: it is most of what a command costs, and much of what an idle daemon keeps. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'

const dist = resolve(import.meta.dirname, '../../dist')

/** Returns which of Node's own modules a program of the project's modules loads. */
function builtInsOf(...modules: readonly string[]): string {
  const imports = modules.map((name) => `await import(${JSON.stringify(join(dist, name))})`)
  const program = `${imports.join('\n')}\nprocess.stdout.write(process.moduleLoadList.join('\\n'))`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
}

describe('a start', () => {
  it("does not load Node's fetch, which ten megabytes of an idle daemon were kept for", () => {
    const parts = ['foundation', 'house', 'client-door', 'oauth-door', 'sign-in-door', 'mcp-door', 'doors']
    const loaded = builtInsOf('cli/main.js', 'daemon.js', ...parts.map((part) => `house/${part}.js`))
    assert.match(loaded, /^NativeModule http$/m)
    assert.doesNotMatch(loaded, /undici/)
  })
})
