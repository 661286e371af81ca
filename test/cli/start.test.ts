/** What a start loads: it is most of what a command costs, and much of what an idle daemon keeps. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { folders } from './running-service.ts'

const dist = resolve(import.meta.dirname, '../../dist')
const program = resolve(import.meta.dirname, '../../bin/assistant-core')

/** Returns which of Node's own modules and of those in CommonJS a program of the project's modules loads. */
function builtInsOf(...modules: readonly string[]): string {
  const imports = modules.map((name) => `await import(${JSON.stringify(join(dist, name))})`)
  const script = `${imports.join('\n')}\nconst { createRequire } = await import('node:module')
const required = Object.keys(createRequire(${JSON.stringify(program)}).cache)
process.stdout.write([...process.moduleLoadList, ...required].join('\\n'))`
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
}

/** Returns the project's files that a command loads as modules, by their paths in `dist/`. */
function filesOf(words: readonly string[], timeout: number): readonly string[] {
  const env = { ...process.env, NODE_DEBUG: 'esm' }
  const { stderr } = spawnSync(process.execPath, [program, ...words], {
    env,
    encoding: 'utf8',
    timeout,
    maxBuffer: 1 << 26,
  })
  const found = [...stderr.matchAll(/Storing file:\/\/(\S+)/g)].map(([, file]) => file!)
  return [...new Set(found)]
    .filter((file) => file.startsWith(`${dist}/`))
    .map((file) => file.slice(dist.length + 1))
}

describe('a start', () => {
  it('of a command loads parts of one bundle, and few of them where it needs few', (t) => {
    const { site, state } = folders(t)
    const loaded = filesOf(['tokens', 'list', '--site', site, '--state', state], 60_000)
    assert.deepEqual(
      loaded.filter((file) => !file.startsWith('commands/')),
      [],
    )
    assert.ok(loaded.length > 10 && loaded.length < 100, `${loaded.length} files`)
  })

  it('of a daemon loads no bundle: a part that it loads late may be one of another version by then', (t) => {
    const { site, state } = folders(t)
    const loaded = filesOf(['serve', '--port', '0', '--site', site, '--state', state], 5000)
    assert.ok(loaded.includes('daemon.js'))
    assert.deepEqual(
      loaded.filter((file) => file.startsWith('commands/')),
      [],
    )
  })

  it("does not load Node's fetch, which ten megabytes of an idle daemon were kept for", () => {
    const parts = ['foundation', 'house', 'client-door', 'oauth-door', 'sign-in-door', 'mcp-door', 'doors']
    const loaded = builtInsOf('cli/main.js', 'daemon.js', ...parts.map((part) => `house/${part}.js`))
    assert.match(loaded, /^NativeModule http$/m)
    assert.doesNotMatch(loaded, /undici/)
    // What only some schemas need is there all the same: by then its files may be of another version.
    assert.match(loaded, /\/ajv\//)
    assert.doesNotMatch(builtInsOf('cli/main.js'), /\/ajv\//)
  })
})
